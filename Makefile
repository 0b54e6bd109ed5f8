# gregor: everything that is done often. `make` alone lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup crawl test check jars tools kafka storm bench lock clean

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PORT ?= 9092
BROKERS ?= 1
JOBS ?= 3
BENCHES := $(basename $(notdir $(shell grep -l __main__ bench/*.py)))

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

crawl: $(STAMP) ## crawl the built-in demo site, or with SEEDS="https://..." CONTACT=mailto:... those
	$(BIN)/gregor crawl $(if $(CONTACT),--contact $(CONTACT)) $(or $(SEEDS),--demo)

setup: $(STAMP) ## install gregor and its pinned dependencies into .venv

$(STAMP): requirements.lock pyproject.toml infra/need.sh
	python=$$(infra/need.sh python) && "$$python" -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

test: jars tools check ## check, then run every test against real brokers
	$(BIN)/pytest -n $(JOBS) --dist loadfile -m "not alone"
	$(BIN)/pytest -m alone

check: $(STAMP) ## lint, formatting, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

jars: $(STAMP) ## fetch the Kafka broker's jars once
	infra/need.sh java mvn
	$(BIN)/python -m infra.kafka.jars

tools: ## install what tests need beside the broker: a browser, and Prometheus' own checker
	infra/need.sh chromium promtool

kafka: jars ## run a Kafka in the foreground (PORT=9092, BROKERS=1 or 3, DATA=folder to keep)
	exec $(BIN)/python -m infra.kafka --port $(PORT) --brokers $(BROKERS) $(if $(DATA),--data "$(DATA)")

storm: jars ## the long form of the storms (an hour), or with STORM=cluster that of the cluster alone (a quarter of one)
ifeq ($(STORM),cluster)
	GREGOR_STORM_BROKERS=3 GREGOR_STORM_KILLS=30 $(BIN)/pytest tests/chaos/test_cluster_storm.py -s
else
	GREGOR_STORM_URLS=2000000 GREGOR_STORM_KILLS=60 GREGOR_STORM_PAGES=500000 GREGOR_STORM_BROKERS=3 \
		$(BIN)/pytest tests/chaos tests/pipeline/test_memory.py -s
endif

bench: jars ## run every benchmark, the quick way
	@set -e; for bench in $(BENCHES); do echo "== $$bench"; $(BIN)/python -m bench.$$bench --quick; done

lock: $(STAMP) ## resolve the newest versions again and pin them
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra bench --extra parquet --universal --python-version 3.11 --upgrade --quiet \
		--generate-hashes --no-header --no-annotate --output-file requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra image --constraint requirements.lock --universal --python-version 3.11 --upgrade --quiet \
		--generate-hashes --no-header --no-annotate --output-file infra/image.lock

clean: ## remove what was built and cached
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist

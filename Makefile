# gregor: everything that is done often. `make` alone lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup crawl test check jars tools kafka storm fuzz bench lock clean

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NATIVE := $(VENV)/.native
READY := $(STAMP) $(NATIVE)
CARGO := $(shell command -v cargo)
PORT ?= 9092
BROKERS ?= 1
JOBS ?= 3
FUZZ_SECONDS ?= 60
FUZZER := .cache/fuzzer
# What is read whole crawls long by the Python reader too; tests of the readers themselves ask both.
BY_PYTHON := tests/run/test_embedded_crawl.py tests/demo
BENCHES := $(basename $(notdir $(shell grep -l __main__ bench/*.py)))

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

crawl: $(READY) ## crawl the built-in demo site, or with SEEDS="https://..." CONTACT=mailto:... those
	$(BIN)/gregor crawl $(if $(CONTACT),--contact $(CONTACT)) $(or $(SEEDS),--demo)

setup: $(READY) ## install gregor and its pinned dependencies into .venv

$(STAMP): requirements.lock pyproject.toml infra/need.sh
	python=$$(infra/need.sh python) && "$$python" -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Where it cannot be built a line says so, each time.
$(NATIVE): $(STAMP) native/build.py native/Cargo.toml native/Cargo.lock $(wildcard native/src/*.rs)
	@$(BIN)/python native/build.py $@

test: jars tools check ## check, then run every test against real brokers
	$(BIN)/pytest -n $(JOBS) --dist loadfile -m "not alone"
	$(BIN)/pytest -m alone
ifneq ($(CARGO),)
	cd native && cargo test --locked --quiet --no-default-features
	GREGOR_READER=python $(BIN)/pytest $(BY_PYTHON)
endif

check: $(READY) ## lint, formatting, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
ifneq ($(CARGO),)
	cd native && cargo fmt --check && cargo clippy --locked --quiet --all-targets -- --deny warnings
endif

jars: $(READY) ## fetch the Kafka broker's jars once
	infra/need.sh java mvn
	$(BIN)/python -m infra.kafka.jars

tools: ## install what tests need beside the broker: a browser, and Prometheus' own checker
	infra/need.sh chromium promtool

kafka: jars ## run a Kafka in the foreground (PORT=9092, BROKERS=1 or 3, DATA=folder to keep)
	exec $(BIN)/python -m infra.kafka --port $(PORT) --brokers $(BROKERS) $(if $(DATA),--data "$(DATA)")

storm: jars ## the long form of the storms (an hour and a half), or of one alone: STORM=cluster, STORM=sites, STORM=soak (a quarter of an hour, half of one)
ifeq ($(STORM),cluster)
	GREGOR_STORM_BROKERS=3 GREGOR_STORM_KILLS=30 $(BIN)/pytest tests/chaos/test_cluster_storm.py -s
else ifeq ($(STORM),sites)
	GREGOR_STORM_BROKERS=3 GREGOR_STORM_KILLS=30 $(BIN)/pytest tests/chaos/test_sites_storm.py -s
else ifeq ($(STORM),soak)
	GREGOR_STORM_SOAK_S=1200 $(BIN)/pytest tests/chaos/test_hostile_soak.py -s
else
	GREGOR_STORM_URLS=2000000 GREGOR_STORM_KILLS=60 GREGOR_STORM_PAGES=500000 GREGOR_STORM_BROKERS=3 GREGOR_STORM_SOAK_S=1200 \
		$(BIN)/pytest tests/chaos tests/run/test_memory.py -s
endif

fuzz: $(READY) ## a coverage-guided fuzzer at every reader of pages in turn, each for FUZZ_SECONDS=60
	@test -d $(FUZZER)/atheris || $(BIN)/pip install --quiet --target $(FUZZER) atheris==3.0.0
	@failed=; for reader in $$($(BIN)/python -m tests.fuzz.readers); do echo "== $$reader"; \
		PYTHONPATH=$(FUZZER) $(BIN)/python -m tests.fuzz.run $$reader $(FUZZ_SECONDS) || failed="$$failed $$reader"; \
	done; test -z "$$failed" || { echo "found something in:$$failed; see .cache/fuzz"; exit 1; }

bench: jars ## run every benchmark, the quick way
	@set -e; for bench in $(BENCHES); do echo "== $$bench"; $(BIN)/python -m bench.$$bench --quick; done

lock: $(STAMP) ## resolve the newest versions again and pin them
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra bench --extra parquet --universal --python-version 3.11 --upgrade --quiet \
		--generate-hashes --no-header --no-annotate --output-file requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra image --constraint requirements.lock --universal --python-version 3.11 --upgrade --quiet \
		--generate-hashes --no-header --no-annotate --output-file infra/image.lock

clean: ## remove what was built and cached
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist native/target

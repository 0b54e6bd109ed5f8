#!/usr/bin/env bash
# Makes sure that a program from outside Python is there: infra/need.sh python|java|mvn|chromium|promtool...
# As root on Debian it installs what is missing; anywhere else it stops with one sentence. For python it prints the interpreter.
set -euo pipefail

stop() {
  echo "gregor needs $1, which was not found here: $2." >&2
  exit 1
}

can_install() { [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; }

install() {
  export DEBIAN_FRONTEND=noninteractive
  echo "installing $*" >&2
  # Tests that run at the same time may want different programs; apt waits for nobody.
  exec 9>/var/lock/gregor-need
  flock 9
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } </dev/null >&2
}

find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

find_java() {
  local java=java major
  if [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/java" ]; then java=$JAVA_HOME/bin/java; fi
  # "17.0.15", "21" and the "1.8.0_402" of old: the major number is the first, which for the last is too small as well.
  major=$("$java" -version 2>&1 | sed -n '1s/.*version "\([0-9]*\).*/\1/p') || return 1
  [ "${major:-0}" -ge 17 ]
}

need() { # check, what it is called in a sentence, Debian packages
  local check=$1 what=$2 packages=$3
  if "$check"; then return; fi
  # shellcheck disable=SC2086
  if can_install; then install $packages; fi
  "$check" || stop "$what" "install it (on Debian: apt-get install $packages)"
}

find_mvn() { command -v mvn >/dev/null; }

find_chromium() { command -v chromium >/dev/null; }

find_promtool() { command -v promtool >/dev/null; }

for program in "$@"; do
  case $program in
    python) need find_python "Python 3.11 or newer with venv" "python3 python3-venv" ;;
    java) need find_java "Java 17 or newer" "default-jre-headless" ;;
    mvn) need find_mvn "Maven" "maven" ;;
    chromium) need find_chromium "Chromium" "chromium" ;;
    promtool) need find_promtool "promtool" "prometheus" ;;
    *) stop "a program named $program" "expected python, java, mvn, chromium or promtool" ;;
  esac
done

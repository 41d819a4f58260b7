# One file of commands, for people and for CI alike. Everything lives in .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
WORKERS ?= 2

.PHONY: help demo test lint types unit privacy faults cluster proofs bench clean
.DEFAULT_GOAL := help

help:  ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# The stamp is younger than pyproject.toml exactly when nothing needs installing.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("titan: error: Python 3.11 or later is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	@echo "setting up $(VENV) (once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)  ## set up, then run titan demo
	@$(BIN)/titan demo

test: $(READY) lint types unit  ## set up, then lint, strict types and every test

lint: $(READY)  ## ruff, style and formatting
	@$(BIN)/ruff check --quiet src tests benchmarks examples
	@$(BIN)/ruff format --quiet --check src tests benchmarks examples

types: $(READY)  ## mypy, strict
	@$(BIN)/mypy

unit: $(READY)  ## every test
	@$(BIN)/python -m pytest -n $(WORKERS)

privacy: $(READY)  ## the proofs of privacy, the longer set included
	@$(BIN)/python -m pytest -n $(WORKERS) -o python_files='test_*.py longer_*.py' tests/privacy

faults: $(READY)  ## the fault campaign: parties killed, cut off, lied to and talked over
	@$(BIN)/python -m tests.party.campaign.mutated --frames 1000000
	@$(BIN)/python -m tests.party.campaign --runs 1000

cluster: $(READY)  ## several processes: MPI ranks and cluster workers, the longer set included
	@$(BIN)/python -m pytest -n 0 -o python_files='test_*.py longer_*.py' tests/cluster

proofs: $(READY)  ## certified GLMs against 60 digits: 300 random, 12 real, 100 separated problems
	@$(BIN)/python -m tests.generalised.campaign

bench: $(READY)  ## the benchmarks, peers included; ratios measured side by side
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]' || echo "some peers cannot be installed here; the report says which were skipped"
	@$(BIN)/python -m benchmarks

clean:  ## remove what make made
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist

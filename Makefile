# One file of commands, for people and for CI alike. Everything lives in .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := $(VENV)/.demo
READY  := $(VENV)/.installed
DOCS   := $(VENV)/.docs
AXE    := $(VENV)/axe/node_modules/axe-core/axe.min.js
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SPHINX := $(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs
WORKERS ?= 3

.PHONY: help demo test lint types unit docs browser cluster privacy faults proofs bench clean
.DEFAULT_GOAL := help

help:  ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# A stamp is younger than pyproject.toml exactly when nothing needs installing. The demo needs what
# an organisation runs and no more; tests and documentation bring tools of their own.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("titan: error: Python 3.11 or later is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	@$(PYTHON) -m venv $(VENV)

$(DEMO): pyproject.toml | $(BIN)/python
	@echo "installing what TITAN needs in $(VENV) (once) ..."
	@$(PIP) --no-compile --editable .
	@touch $@

$(READY): pyproject.toml | $(BIN)/python
	@echo "installing what its tests need in $(VENV) (once) ..."
	@$(PIP) --editable '.[dev]'
	@touch $(DEMO) $@

$(DOCS): pyproject.toml $(READY)
	@echo "installing what its documentation needs in $(VENV) (once) ..."
	@$(PIP) --editable '.[dev,docs]'
	@touch $@

demo: $(DEMO)  ## set up what it needs, then run titan demo
	@$(BIN)/titan demo

test: $(READY) lint types unit  ## set up, then lint, strict types and every test

lint: $(READY)  ## ruff, style and formatting
	@$(BIN)/ruff check --quiet src tests benchmarks examples docs
	@$(BIN)/ruff format --quiet --check src tests benchmarks examples docs

types: $(READY)  ## mypy, strict
	@$(BIN)/mypy

unit: $(READY)  ## every test
	@$(BIN)/python -m pytest -n $(WORKERS)

docs: $(DOCS)  ## the documentation, build/docs/index.html; every command in it is run
	@rm -rf build/docs build/doctrees docs/notebooks/pictures
	@$(SPHINX)
	@$(BIN)/python -m pytest -n $(WORKERS) -o python_files='test_*.py longer_*.py' tests/pages
	@echo "build/docs/index.html"

privacy: $(READY)  ## the proofs of privacy, the longer set included
	@$(BIN)/python -m pytest -n $(WORKERS) -o python_files='test_*.py longer_*.py' tests/privacy
	@$(BIN)/python -m tests.release.step_campaign
	@$(BIN)/python -m tests.release.hazard_campaign

faults: $(READY)  ## the fault campaign: parties killed, cut off, lied to and talked over
	@$(BIN)/python -m tests.party.campaign.mutated --frames 1000000
	@$(BIN)/python -m tests.party.five_parties
	@$(BIN)/python -m tests.party.campaign --runs 1000

cluster: $(READY)  ## several processes: MPI ranks and cluster workers, the longer set included
	@$(BIN)/python -m pytest -n 0 -o python_files='test_*.py longer_*.py' tests/cluster

browser: $(DOCS)  ## pages, reports and the documentation in Chromium, looked at as a person would
	@command -v chromedriver >/dev/null || { echo "titan: error: chromedriver is not installed; on Debian: apt-get install chromium chromium-driver" >&2; exit 1; }
	@test -f $(AXE) || npm install --silent --no-save --no-package-lock --prefix $(VENV)/axe axe-core || echo "titan: note: npm cannot install axe-core; the walk goes on without it"
	@$(SPHINX)
	@TITAN_AXE=$$(ls $(AXE) 2>/dev/null) $(BIN)/python -m pytest -n 0 -rs -o python_files='longer_*.py' tests/browser

proofs: $(READY)  ## certified fits of every kind against 60 digits, and against statsmodels
	@$(BIN)/python -m tests.leastsquares.twin --problems 1000
	@$(BIN)/python -m tests.leastsquares.beside_statsmodels
	@$(BIN)/python -m tests.generalised.campaign
	@$(BIN)/python -m tests.generalised.against_statsmodels
	@$(BIN)/python -m tests.generalised.real_studies
	@$(BIN)/python -m tests.generalised.cox_campaign

bench: $(READY)  ## the benchmarks, peers included; ratios measured side by side
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]' || echo "some peers cannot be installed here; the report says which were skipped"
	@$(BIN)/python -m benchmarks

clean:  ## remove what make made
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist

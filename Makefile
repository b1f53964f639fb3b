# Every target sets up what it needs, once; `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# One more than the smallest machine has cores: tests of sockets and processes mostly wait.
WORKERS ?= 3

.DEFAULT_GOAL := help
.PHONY: help setup demo test check hashes bench soak paper lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(READY) ## create .venv and install the locked dependencies

# One stamp for the whole environment: it goes stale when the lock or the package metadata does.
$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "penstock needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "no venv module: install your system's python3-venv package"; exit 1; }
	@echo "installing into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## see it work: a network in trouble, the transport off and on, Spark, and out/demo/report.html
	@$(BIN)/penstock demo

test: check ## checks and every test but the long ones (what CI runs)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not soak"

check: $(READY) ## ruff, mypy strict, import layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

hashes: $(READY) ## what runs hash to, where that is not as recorded (a minute or two)
	@$(BIN)/python -m tests.hashes

bench: $(READY) ## side-by-side benchmarks (minutes), with the change since the last run
	@$(BIN)/penstock bench

soak: $(READY) ## the long seeded loops, and every mutation of the experiments
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m soak

paper: $(READY) ## every experiment at the published scale (long; takes up where it stopped)
	@for id in $$($(BIN)/penstock lab list --ids); do \
	  $(BIN)/penstock lab run $$id --profile paper --resume --check || failed="$$failed $$id"; \
	done; [ -z "$$failed" ] || { echo "not all expectations were met:$$failed"; exit 1; }

lock: $(READY) ## refresh requirements/dev.lock from pyproject.toml
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile pyproject.toml --extra dev --extra fast --extra bench --extra spark --generate-hashes --upgrade \
	  --no-emit-index-url --no-header --python-version 3.11 -o requirements/dev.lock

clean: ## remove the environment and everything generated
	rm -rf $(VENV) .cache out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

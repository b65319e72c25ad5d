# `make` alone lists the words. Everything happens in .venv; `make clean` takes it all away.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

# Bytecode is cached even where the environment forbids it: start-up time is measured and tested.
unexport PYTHONDONTWRITEBYTECODE
# Neither of these may leak another project's modules into this one.
unexport PYTHONPATH
unexport PYTHONHOME
# The wrapper would ask the npm registry for a newer pyright at every run.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# A stamp is worth nothing once its interpreter has gone (an upgrade, a removed version).
$(shell test -x $(BIN)/python || rm -f $(VENV)/.base $(VENV)/.dev)

.DEFAULT_GOAL := help
.PHONY: help setup demo test e2e chaos check bench docs fix clean

help:
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## /{printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## make .venv with quell and the tools of the workshop (again only when the pins change)

demo: $(VENV)/.base ## see the promise kept
	@scripts/setup-system demo
	@$(BIN)/quell demo

test: $(VENV)/.dev ## run the whole suite; ARGS='-k kill' to choose
	@scripts/setup-system test
	$(BIN)/python -m pytest -n 3 --dist worksteal $(ARGS)

e2e: $(VENV)/.dev ## the real Claude Code against a stand-in for its model; writes docs/e2e.md
	@scripts/setup-system e2e
	$(BIN)/python -m pytest --timeout 300 tests/e2e $(ARGS)

# Another seed each time, printed at the top; make chaos SEED=7 repeats that of 7.
chaos: export QUELL_CHAOS := $(if $(QUICK),short,long)
chaos: export QUELL_CHAOS_SEED := $(or $(SEED),$(shell date +%s))
chaos: $(VENV)/.dev ## break quell on purpose, for half an hour; QUICK=1 for minutes, SEED=7 to repeat; writes docs/chaos.md
	@scripts/setup-system test
	$(BIN)/python -m pytest --timeout 600 -o faulthandler_timeout=580 tests/chaos $(ARGS)

check: $(VENV)/.dev ## format, lint, types, direction of imports, sizes
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/make-docs --check
	$(BIN)/python -m pytest -q tests/test_house.py

bench: $(VENV)/.dev ## measure quell side by side with its peers
	@scripts/setup-system e2e
	$(BIN)/python bench/run.py $(ARGS)

docs: $(VENV)/.dev ## print again those pages that are made from the code
	$(BIN)/python scripts/make-docs

fix: $(VENV)/.dev ## format, and repair what ruff can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean: ## remove .venv and every cache
	rm -rf $(VENV) build dist htmlcov .coverage* .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- the virtual environment ----------------------------------------------------------------------

# The interpreter itself, not a wrapper in front of it (a pyenv shim, another venv): the wrapper would
# cost its time at every start. Choose one with `make setup PYTHON=python3.13`.
PYTHON ?=
define FIND_PYTHON
for name in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
	found=$$("$$name" -I -c 'import sys, ensurepip, venv; sys.version_info >= (3, 11) or sys.exit(1); print(getattr(sys, "_base_executable", "") or sys.executable)' 2>/dev/null) \
	&& [ -x "$$found" ] && break; \
	found=""; \
done; \
if [ -z "$$found" ]; then \
	echo "error: quell needs Python 3.11 or newer with its venv module (Debian: python3-venv), and none is on PATH" >&2; \
	exit 1; \
fi
endef

# What it takes to run quell. Built without isolation, so that the pins hold for the build as well.
$(VENV)/.base: pyproject.toml constraints.txt
	@$(FIND_PYTHON); [ -x $(BIN)/python ] || { echo "making $(VENV) with $$found" >&2; "$$found" -m venv --clear $(VENV); }
	@$(PIP) install -c constraints.txt hatchling editables
	@$(PIP) install -c constraints.txt --no-build-isolation -e .
	@touch $@

# What it takes to work on it.
$(VENV)/.dev: $(VENV)/.base
	@echo "installing the tools" >&2
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

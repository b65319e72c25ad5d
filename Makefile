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
$(shell test -x $(BIN)/python || rm -f $(VENV)/.base $(VENV)/.dev $(VENV)/.fleet)

# What runs on macOS only, or there too: checked once more as for that system.
ON_DARWIN := $(addprefix src/knell/processes/os/,darwin.py portable.py portable_proc.py portable_use.py panes.py) \
	$(addprefix src/knell/processes/keeper/,ledger.py machine.py sightings.py)

.DEFAULT_GOAL := help
.PHONY: help setup demo fleet-demo test test-as-user e2e chaos mutants check check-page bench docs site package fix clean

help:
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## make .venv with knell and the tools of the workshop (again only when the pins change)

demo: $(VENV)/.base ## see the promise kept
	@scripts/setup-system demo
	@$(BIN)/knell demo

fleet-demo: $(VENV)/.fleet ## three hosts on a private PostgreSQL: ended across hosts, one cut off and back
	@scripts/setup-system fleet
	@$(BIN)/python scripts/fleet-demo

test: $(VENV)/.dev ## run the whole suite; ARGS='-k kill' to choose
	@scripts/setup-system test
	$(if $(SECOND_LOOK),scripts/second-look )$(BIN)/python -m pytest -n 6 --dist worksteal $(ARGS)

test-as-user: $(VENV)/.dev ## as root: a part of the suite as an ordinary user that is made for it
	@scripts/setup-system test
	scripts/test-as-user $(ARGS)

# KNELL_E2E_PROGRAMS=DIR has them in DIR/node_modules already, and nothing is installed.
e2e: export KNELL_E2E_KINDS := $(KINDS)
e2e: $(VENV)/.dev ## the real claude, codex, gemini and opencode against a stand-in for their models; KINDS='codex gemini' to choose; writes docs/e2e.md
	@scripts/setup-system e2e
	$(BIN)/python -m pytest -n $(or $(JOBS),2) --dist worksteal --timeout 900 -o faulthandler_timeout=880 tests/e2e $(ARGS)

# Another seed each time, printed at the top; make chaos SEED=7 repeats that of 7.
chaos: export KNELL_CHAOS := $(if $(QUICK),short,long)
chaos: export KNELL_CHAOS_SEED := $(or $(SEED),$(shell date +%s))
chaos: $(VENV)/.dev ## break knell on purpose, for up to half an hour; QUICK=1 for less, SEED=7 to repeat; writes docs/chaos.md
	@scripts/setup-system test
	$(BIN)/python -m pytest -n 4 --dist worksteal --timeout 600 -o faulthandler_timeout=580 --hypothesis-seed $$KNELL_CHAOS_SEED tests/chaos tests $(ARGS)

mutants: $(VENV)/.dev ## break the source on purpose, and see that the item's own test notices; ARGS='O13 H33' to choose
	@scripts/setup-system test
	$(BIN)/python scripts/mutants $(ARGS)

check: $(VENV)/.dev ## format, lint, types, direction of imports, sizes
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/pyright --pythonplatform Darwin $(ON_DARWIN)
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/make-docs --check
	$(BIN)/python -m pytest -q tests/test_house.py

check-page: $(VENV)/.dev ## types of the web page, by tsc, which npm brings
	$(BIN)/python scripts/check-page

bench: $(VENV)/.dev ## measure knell side by side with its peers
	@scripts/setup-system e2e
	$(BIN)/python bench/run.py $(ARGS)

docs: $(VENV)/.dev ## print again those pages that are made from the code, and take the pictures
	$(BIN)/python scripts/make-docs
	@scripts/setup-system test
	$(BIN)/python scripts/make-pictures
	$(BIN)/python scripts/make-web-pictures

site: $(VENV)/.dev ## build the site of all pages, without the network: build/site/index.html
	$(BIN)/python -m sphinx -W -q -d build/doctrees -b html docs build/site
	@echo "file://$(CURDIR)/build/site/index.html"

package: $(VENV)/.dev ## build sdist and wheel into dist/, check them, and install the wheel as users do
	@scripts/setup-system demo
	@$(PIP) install twine uv pipx
	scripts/make-package

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
	echo "error: knell needs Python 3.11 or newer with its venv module (Debian: python3-venv), and none is on PATH" >&2; \
	exit 1; \
fi
endef

# What it takes to run knell. Built without isolation, so that the pins hold for the build as well.
$(VENV)/.base: pyproject.toml constraints.txt
	@$(FIND_PYTHON); [ -x $(BIN)/python ] || { echo "making $(VENV) with $$found" >&2; "$$found" -m venv --clear $(VENV); }
	@$(PIP) install -c constraints.txt hatchling editables click
	@$(PIP) install -c constraints.txt --no-build-isolation -e .
	@touch $@

# What it takes to be one of many hosts.
$(VENV)/.fleet: $(VENV)/.base
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[fleet]'
	@touch $@

# What it takes to work on it.
$(VENV)/.dev: $(VENV)/.base
	@echo "installing the tools" >&2
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

# Two commands: `make reproduce` sets up and runs the paper's experiments, `make test` sets up and runs every check.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# Packages that ship a public table, which tests read without importing them; skipped where they cannot be had. What they
# would need themselves is not installed, and other versions do not have the tables.
TABLES := ethik==0.0.2 xai==0.3.0

.PHONY: reproduce test lint docs benchmark lock clean

reproduce: $(READY)
	@echo "== Reproducing the paper (results/)"
	$(BIN)/fairgate reproduce --out results

test: lint
	@echo "== 4/4 Tests and doctests"
	$(BIN)/python -m pytest -n auto

lint: $(READY)
	@echo "== 1/4 ruff"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo "== 2/4 mypy"
	$(BIN)/mypy
	@echo "== 3/4 import-linter"
	$(BIN)/lint-imports --no-cache

docs: $(READY)
	@echo "== Documentation (site/index.html)"
	$(BIN)/python -W error -m zensical build --clean --strict

benchmark: $(READY)
	@echo "== Benchmark"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/simulate.py

$(READY): pyproject.toml constraints.txt
	@echo "== Setting up $(VENV)"
	$(PYTHON) -c 'import sys; sys.exit("fairgate needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(TABLES)
	touch $(READY)

# Writes constraints.txt anew: the newest versions that fit pyproject.toml.
lock:
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test,bench]'
	{ echo '# What a fresh install gets; made by `make lock`.'; $(VENV)-lock/bin/python -m pip freeze --exclude-editable; } > constraints.txt
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) $(VENV)-lock results site .cache

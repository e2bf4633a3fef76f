# `make reproduce` sets up and runs the paper's experiments, `make paper` runs all of them and writes an article,
# `make test` sets up and runs every check, `make quick` the checks worth waiting for after every change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# A worker takes a whole module, whose runs are made once; tests/conftest.py says which come first.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder
# Packages that ship a public table, which tests read without importing them; skipped where they cannot be had. What they
# would need themselves is not installed, and other versions do not have the tables.
TABLES := ethik==0.0.2 xai==0.3.0

.PHONY: reproduce reproduce-all paper test quick lint coverage lowest docs benchmark lock dist clean

reproduce: $(READY)
	@echo "== Reproducing the paper (results/)"
	$(BIN)/fairgate reproduce --out results

# The long parts too: several minutes.
reproduce-all: $(READY)
	@echo "== Reproducing the paper, all parts (results/)"
	$(BIN)/fairgate reproduce all --out results

paper: reproduce-all
	@echo "== The article (results/paper.pdf)"
	$(BIN)/fairgate paper --out results

test: lint
	@echo "== 4/4 Tests and doctests"
	$(PYTEST)

lint: $(READY)
	@echo "== 1/4 ruff"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo "== 2/4 mypy"
	$(BIN)/mypy
	@echo "== 3/4 import-linter"
	$(BIN)/lint-imports --no-cache

# Under 90 s on two idle cores: all but the tests marked slow. Types are checked with what mypy remembers.
quick: $(READY)
	@echo "== ruff, mypy, and the tests that are not marked slow"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) -m "not slow"

# Lines and branches that the tests run, also in the processes they start; below the floor of pyproject.toml it fails.
coverage: $(READY)
	@echo "== Coverage (.cache/coverage/html/index.html)"
	$(PYTEST) --cov --cov-report=term:skip-covered --cov-report=html --cov-report=xml

# The oldest versions that pyproject.toml allows, on the oldest Python.
lowest:
	@echo "== Tests with the lowest dependencies"
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python --resolution lowest-direct -e '.[test]'
	$(VENV)-lowest/bin/python -m pytest -n auto -m "not slow"
	rm -rf $(VENV)-lowest

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

# Writes constraints.txt: the newest versions that fit pyproject.toml.
lock:
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test,bench]'
	{ echo '# What a fresh install gets; made by `make lock`.'; $(VENV)-lock/bin/python -m pip freeze --exclude-editable; } > constraints.txt
	rm -rf $(VENV)-lock

# What a release uploads; the tag's workflow does the same.
dist:
	@echo "== Source and wheel (dist/)"
	rm -rf dist $(VENV)-dist
	$(PYTHON) -m venv $(VENV)-dist
	$(VENV)-dist/bin/python -m pip install --quiet --disable-pip-version-check build twine
	$(VENV)-dist/bin/python -m build
	$(VENV)-dist/bin/python -m twine check --strict dist/*
	rm -rf $(VENV)-dist

clean:
	rm -rf $(VENV) $(VENV)-* results site dist .cache

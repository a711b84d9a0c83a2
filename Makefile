# `make test` and `make demo` work as the first command in a fresh clone: they need python3 (3.11 or newer), make and a network.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
run := $(VENV)/bin/python

.PHONY: help demo test test-fast test-pythons lint fmt docs site bench hooks clean

help:
	@echo 'make demo          real terrain: slope, hill-shade, smoothing, contour lines; writes terrain.png'
	@echo 'make test          everything a machine without a GPU can check: format, lint, types, imports, tests'
	@echo 'make test-fast     the quick part of it, about two minutes'
	@echo 'make test-pythons  the tests on every other CPython from 3.11 up that is found'
	@echo 'make fmt           formats the code and sorts imports'
	@echo 'make docs          regenerates the generated pages and builds the documentation into site/'
	@echo 'make bench         measures and prints one table'
	@echo 'make hooks         installs the pre-commit hooks'
	@echo 'PYTHON=... chooses the interpreter, ARGS=... is passed on to pytest, the demo or the benchmarks'

demo:
	@sh scripts/venv.sh $(VENV) $(PYTHON) cpu 'matplotlib>=3.9'
	$(run) examples/terrain.py $(ARGS)

.PHONY: env compiler
# Tests run emitted C, tack-sim compiles its stand-in library and benchmarks compare with C++: g++ does it.
compiler:
	@command -v g++ >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -q -y g++; } || \
	    { echo 'install g++ (Debian: apt-get install g++)' >&2; exit 1; }

env:
	@sh scripts/venv.sh $(VENV) $(PYTHON) cpu,test -e packages/tack-sim

test: compiler lint
	$(run) -m pytest -n auto --dist worksteal $(ARGS)

test-fast: compiler env
	$(run) -m ruff check .
	$(run) -m pytest -n auto --dist worksteal -m 'not slow' $(ARGS)

test-pythons: compiler
	@set -e; for python in $$(sh scripts/pythons.sh $(PYTHON)); do \
	    env=.venv-$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	    sh scripts/venv.sh $$env $$python cpu,test -e packages/tack-sim; \
	    echo "== $$($$python -V)"; \
	    $$env/bin/python -m pytest -n auto --dist worksteal $(ARGS); \
	done

lint: env
	$(run) -m ruff format --check .
	$(run) -m ruff check .
	$(run) -m pyright --pythonpath $(run)
	$(VENV)/bin/lint-imports --no-logo --no-cache

fmt: env
	$(run) -m ruff check --fix .
	$(run) -m ruff format .

docs: env
	$(run) scripts/generate_docs.py
	@$(MAKE) --no-print-directory site

site:
	@sh scripts/venv.sh $(VENV) $(PYTHON) cpu,test 'mkdocs>=1.6,<2'
	$(run) -m mkdocs build --strict --quiet

bench: compiler
	@sh scripts/venv.sh $(VENV) $(PYTHON) cpu,bench
	$(run) -m benchmarks $(ARGS)

hooks:
	@sh scripts/venv.sh $(VENV) $(PYTHON) cpu,test 'pre-commit>=4'
	$(run) -m pre_commit install

clean:
	rm -rf .venv .venv-* site build .pytest_cache .ruff_cache .hypothesis

# Everything is installed in .venv, from a bare Python >= 3.11. The other targets set it up when needed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
FUZZ_FRAMES ?= 1000000
# Each test process, broker and tool would compile all modules again where this is set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup check test fuzz demo run bench docs clean

help:
	@echo "make setup   make .venv with everything in it"
	@echo "make check   lint, types, layers and the fast tests, without other clients: under a minute"
	@echo "make test    everything"
	@echo "make fuzz    $(FUZZ_FRAMES) mutated requests against a server (FUZZ_FRAMES=...)"
	@echo "make demo    see it work: orders, the exactly-once pipeline on Spark, a kill -9 in the middle; two or three minutes"
	@echo "make run     a broker, orders and the pipeline until Ctrl-C"
	@echo "make bench   measure, in ratios (BENCH='protocol records network storage storage_open cleaner broker coordinators cluster clients tools spark_read spark_write' to choose)"
	@echo "make docs    write the documents that are derived from the code"

setup: $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Moldau needs Python 3.11 or newer: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -m "not slow and not java" --numprocesses 3 --ignore tests/compat --ignore tests/spec

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

fuzz: $(READY)
	MOLDAU_FUZZ_FRAMES=$(FUZZ_FRAMES) $(BIN)/pytest tests/fuzz --timeout 3600

# A Java for Spark, where the machine has none.
JAVA := .venv/.java
$(JAVA): $(READY)
	test -n "$$JAVA_HOME" || command -v java > /dev/null || $(BIN)/python -m pip install --quiet --editable '.[java]'
	touch $(JAVA)

demo: $(JAVA)
	$(BIN)/python -m examples.demo

run: $(JAVA)
	$(BIN)/python -m examples.run

bench: $(READY)
	$(BIN)/python -m bench $(BENCH)

docs: $(READY)
	$(BIN)/python -m moldau.base.config.document > docs/configuration.md

clean:
	rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

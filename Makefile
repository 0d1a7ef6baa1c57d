# Each target sets up what it needs in .venv, and is quick the second time.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test bench clean
demo: .venv/ready
	$(BIN)/unbraid demo

test: .venv/ready
	$(BIN)/ruff check src tests bench
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

bench: .venv/ready
	$(BIN)/python bench/data.py
	$(BIN)/python bench/train.py

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .cache demo

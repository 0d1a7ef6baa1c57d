# Each target sets up what it needs in .venv, and is quick the second time.
PYTHON ?= python3
BIN := .venv/bin

# What a change most likely breaks, in less than a minute: the rules of the package, losses, networks, metrics beside
# their golden scores, the command's errors, one tiny run.
QUICK := tests/test_package.py tests/test_threads.py tests/test_progress.py tests/bench/test_imports.py \
  tests/data/test_factors.py tests/nets tests/methods/test_gaussian.py tests/methods/test_losses.py \
  tests/metrics/test_golden.py::test_agrees tests/metrics/test_imports.py tests/cli/test_commands.py \
  tests/cli/test_cli.py::test_bad_input_is_one_line_and_exit_code_2 \
  tests/cli/test_cli.py::test_bad_codes_are_one_line tests/cli/test_cli.py::test_train_runs_and_show

.PHONY: demo test types tests quick bench site oldest release clean
demo: .venv/ready
	$(BIN)/unbraid demo

# types beside tests: mypy has but one process
test: .venv/ready
	$(BIN)/ruff check src tests bench tools
	$(MAKE) --no-print-directory --jobs 2 types tests

types: .venv/ready
	$(BIN)/mypy

# worksteal hands out tests in long runs of neighbours, so that few modules build their fixtures in several processes;
# three of them for two cores, since many tests wait for processes of their own
tests: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal

quick: .venv/ready
	$(BIN)/ruff check src tests bench tools
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(QUICK)

# build/site: pages, API, study reports, explorers
site: .venv/ready
	$(BIN)/python tools/site.py

bench: .venv/ready
	$(BIN)/python bench/data.py
	$(BIN)/python bench/train.py

# the oldest versions that pyproject.toml allows, see constraints-oldest.txt: the quick tests, tables and drawings
oldest: build/oldest/ready
	OMP_NUM_THREADS=1 build/oldest/bin/python -m pytest $(QUICK) tests/pictures tests/metrics/test_scoring.py \
	  tests/report/test_compared.py tests/report/test_run_table.py tests/report/test_page.py::test_one_run

build/oldest/ready: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip install --quiet --constraint constraints-oldest.txt --editable . \
	  hypothesis pytest
	touch $@

# dist: wheel and source archive, tried outside the checkout; docs/releasing.md says what comes before and after
release: build/release/ready
	build/release/bin/python tools/release.py $(REHEARSE)

build/release/ready:
	$(PYTHON) -m venv build/release
	build/release/bin/python -m pip install --quiet build twine
	touch $@

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .cache build demo dist

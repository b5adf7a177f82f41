# make demo   install, compare LAB-RBF with tuned methods, and write a report
# make test   check style, types and import contracts, and run the tests
# make portable  run all tests RUNS=10 times, as other processors would compute; takes an hour
# make portable ARCH=aarch64  run the numerical ones on another architecture, emulated on Debian; takes hours
# make fuzz   run N=10000 malicious cases of each of KINDS, N/10 fits on Dask, and 50 kills of each kind
# make lint   check style, types and import contracts alone, without PyTorch
# make docs   build the documentation, warnings as errors
# make pages  build the documentation without the pictures of the gallery, in a fraction of the time
# make bench  run the speed benchmarks; JSON and Markdown in benchmarks/output

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST_ARGS ?= --numprocesses auto --dist loadfile

RUNS ?= 10
PORTABLE ?= tests
N ?= 10000
KINDS ?= estimators model_files tables names

.NOTPARALLEL:
.PHONY: demo test portable fuzz lint docs pages bench clean help
help:
	@sed -n 's/^# make/make/p' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "pliant needs Python 3.11 or newer; $(PYTHON) is %d.%d. Try: make PYTHON=python3.12 ..." % v[:2])'
	@echo "Making the environment $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

# The file .venv/.lint tells that the extra "lint" is installed, and so for the others.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "Installing pliant[$*] from PyPI"
	@$(PIP) install --quiet --editable ".[$*]"
	@touch $@

demo: $(VENV)/.all
	@$(BIN)/pliant demo --out demo-output
	@echo "In this clone, pliant is $(BIN)/pliant."

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_ARGS)

ifdef ARCH
portable: | $(BIN)/python
	$(BIN)/python -m tests.emulated $(ARCH) $(PYTEST_ARGS)
else
portable: $(VENV)/.dev
	$(BIN)/python -m tests.portable --runs $(RUNS) $(PYTEST_ARGS) $(PORTABLE)
endif

fuzz: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.campaign $(KINDS) --cases $(N)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.campaign dask_cases --cases $$(($(N) / 10))
	$(BIN)/python -m tests.fuzz.kills --times 50

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

pages: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -D plot_gallery=0 \
	  -D suppress_warnings=config.cache,image.not_readable -b html docs docs/_build/html

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks speed
	$(BIN)/python -m benchmarks paths
	$(BIN)/python -m benchmarks adapted

clean:
	rm -rf $(VENV) docs/_build docs/auto_examples docs/gen_modules docs/api/generated benchmarks/output papers/output demo-output .aarch64

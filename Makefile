# make demo   draw a small image folder, convert it, train on it for a moment
# make test   lint, types and the tests
#
# Both make a virtual environment in .venv first and install what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

export TF_CPP_MIN_LOG_LEVEL ?= 3

.PHONY: demo test test-slow test-engines lint docs benchmark clean

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.python setup.cfg pyproject.toml
	$(PIP) --editable '.[tensorflow]'
	touch $@

$(VENV)/.test: $(VENV)/.python setup.cfg pyproject.toml
	$(PIP) --editable '.[test]'
	touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	rm -rf build/demo
	$(BIN)/python examples/draw_images.py build/demo/images
	$(BIN)/tfrec-convert build/demo/images build/demo/dataset --splits train=0.8,test=0.2
	$(BIN)/python examples/train.py build/demo/dataset
	ls -l build/demo/dataset

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest --quiet --durations=5

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest --quiet -m slow

test-engines: $(VENV)/.test
	$(BIN)/python -m pytest --quiet -m engines -rs tests/engines

docs: $(VENV)/.test
	$(BIN)/python docs/generate_cli.py

benchmark: $(VENV)/.test
	$(BIN)/python -m benchmarks images
	$(BIN)/python -m benchmarks read
	$(BIN)/python -m benchmarks csv
	$(BIN)/python -m benchmarks csv-read

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

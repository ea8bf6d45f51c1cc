# make run    install the locked environment and run the study of config/config.yaml
# make test   install the locked environment and run linters and all tests
# make bench  measure speed and print it as ratios within one run
# make schema write the configuration's schema and its table of keys from the models
# make readme write the verdict on the paper's claims into README.md, from results/claims.csv
# make wheels download the locked packages into wheels/, for a machine without internet
# make lock   resolve envs/requirements.lock from pyproject.toml
# make clean  remove what the study made, and no data of yours

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# nproc takes OMP_NUM_THREADS for the number of cores.
CORES ?= $(shell env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null || sysctl -n hw.ncpu)

export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: run test lint bench lock wheels schema readme clean

run: $(STAMP)
	snakemake --cores $(CORES) --quiet rules

# The longest files come first, so that no core idles at the end. One worker more than cores, because some wait for Slurm or
# for a job of Snakemake.
test: lint
	pytest -n $$(($(CORES) + 1)) --dist loadfile --no-loadscope-reorder --durations 15 tests/cluster tests/workflow tests/unit tests/theory

lint: $(STAMP)
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow/rules
	lint-imports
	mypy
	python -m tests.lint_workflow

# On a machine with an NVIDIA GPU, tests/benchmarks/gpu.sh compares it with the CPU and measures its speed.
bench: $(STAMP)
	python -m tests.benchmarks.stacked
	python -m tests.benchmarks.weights
	python -m tests.benchmarks.meta_weight_net
	python -m tests.benchmarks.bilevel
	python -m tests.benchmarks.training
	python -m tests.benchmarks.planning

schema: $(STAMP)
	python -m fossil describe_config --settings '{}' \
		--schema workflow/schemas/config.schema.json --readme config/README.md

readme: $(STAMP)
	snakemake --cores $(CORES) --quiet rules claims
	python -m fossil write_readme --settings '{}' --ledger results/claims.csv --readme README.md

lock: $(STAMP)
	pip install --quiet uv
	uv pip compile --universal --python-version 3.11 --all-extras pyproject.toml --output-file envs/requirements.lock

wheels:
	$(PYTHON) -m pip wheel --requirement envs/requirements.lock --wheel-dir wheels 'setuptools>=80'

$(STAMP): envs/requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "FOSSIL needs Python 3.11 or newer; run make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement envs/requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

clean:
	rm -rf $(filter-out results/version/ %.dvc,$(wildcard results/*/ results/theory* results/claims.* results/summary.md \
		data/processed/* data/raw/phantom* data/raw/weights/*)) .snakemake

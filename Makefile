# Two commands: `make demo` shows what it does, `make test` checks that it does it.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test system check lint types imports kernels unit bench docs torture fuzz neighbours test-cluster mutants audit-full lock clean

demo: .venv/demo
	@$(BIN)/trueup demo

test: .venv/test system
	@$(MAKE) --no-print-directory check

# What `make test` runs once everything is installed: what needs one core at a time side by side, and
# the kernels compiled, so that the tests' two processes need not compile each of them twice.
check:
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types kernels lint imports
	@$(MAKE) --no-print-directory unit

kernels:
	$(BIN)/trueup warm

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

imports:
	$(BIN)/lint-imports --no-cache | tail -n 20

unit:
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# Every benchmark, with the peers beside us, into docs/results/benchmarks.md.
bench: .venv/test
	$(BIN)/python bench/run.py

# The docs as a site, in site/; a broken link or an unknown name stops it. Nothing is fetched.
docs: .venv/test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

# Kills, power cuts, failing disks, races and tampering; 20,000 kills, or KILLS=… of them. Then the
# same to a ledger that counts rho, with RHO_KILLS=…; then in PostgreSQL, with PG_KILLS=… of clients
# and CRASHES=… of the server.
torture: .venv/test system
	$(BIN)/python tests/owner/torture.py --kills $(or $(KILLS),20000)
	$(BIN)/python tests/owner/torture.py --notion rho --kills $(or $(RHO_KILLS),2000)
	$(BIN)/python tests/owner/torture.py --notion rho --store postgresql \
		--kills $(or $(RHO_KILLS),400) --crashes 20 --dumps 20
	$(BIN)/python tests/owner/torture.py --store postgresql --kills $(or $(PG_KILLS),2000) \
		--crashes $(or $(CRASHES),200) --dumps 100

# Requests made from the server's OpenAPI document: 100,000, or CASES=… of them. None may be a 5xx.
fuzz: .venv/test
	$(BIN)/python tests/server/fuzz.py --cases $(or $(CASES),100000)

# One record must not change what an engine does: a million pairs of neighbouring tables over the
# readers in the process, or PAIRS=… of them; 5,000 on each server, or SERVER_PAIRS=… of them.
neighbours: .venv/test system
	$(BIN)/python tests/owner/neighbour_run.py --pairs $(or $(PAIRS),1000000) \
		--server-pairs $(or $(SERVER_PAIRS),5000)

# The contract of the sources once more on a Spark master and worker of their own.
test-cluster: .venv/test system
	$(BIN)/python tests/owner/cluster.py
	$(BIN)/python tests/scale/cluster.py

# Every planted fault against the tests that claim its place. Fails if one survives. ONLY=… for some.
mutants: .venv/test system
	$(BIN)/python tests/mutants/run.py $(if $(ONLY),--only $(ONLY)) $(if $(RECORD),--record)

# A thousand million draws at each of 200 scales, 1,000 clean examinations, and what time tells. Hours;
# minutes with DRAWS=1e6 SCALES=40 CLEAN=100 BATCHES=4000 REQUESTS=50.
audit-full: .venv/test
	$(BIN)/python bench/audit_full.py --draws $(or $(DRAWS),1e9) --scales $(or $(SCALES),200) \
		--clean $(or $(CLEAN),1000) --batches $(or $(BATCHES),20000) --requests $(or $(REQUESTS),200)

# Debian packages that the tests need and the machine lacks.
system:
	@bash scripts/system.sh

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt pip

.venv/demo: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[demo]'
	@touch $@

.venv/test: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@ .venv/demo

# The pinned set: names and versions of what was seen to work together, nothing else.
lock:
	bash scripts/lock.sh

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

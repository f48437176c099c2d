# make run, make test, make check: each works from a bare clone. Paths are relative: blanks are fine.
PORT ?= 8080
STORE ?= sqlite
# What has to be installed, and what serves.
RUN_sqlite := run queuelog_core.cli
RUN_dynamodb := offline scripts.local_dynamodb
N ?= 20
PYTHON := .venv/bin/python
MEASURED := tests/unit tests/stores tests/http tests/client tests/worker tests/functions
# Who waits for processes leaves time to others. This is the order of their start: long ones first.
TOGETHER := tests/fronts tests/system tests/fuzz tests/contract tests/http tests/security \
	tests/redaction
# It measures how callers share a busy server: nothing else may run meanwhile.
ALONE := tests/system/test_under_load.py
# What draws a seed of its own for each run.
PROOFS := $(addprefix tests/system/test_,history.py history_volume.py history_dynamodb.py \
	seeded_bugs.py model.py model_dynamodb.py barrier_races.py migration_races.py faults_*.py \
	stalls.py clock_steps.py time_zones.py daylight_saving.py) tests/stores/test_crashes.py
ALL_CODE := queuelog_core functions scripts tests

.PHONY: run offline deploy test test-nfs repeat check bench soak lint generate

run: ## serve on PORT (8080) with sample keys and a worker; STORE=dynamodb: over a DynamoDB at home
	@test -n "$(RUN_$(STORE))" || { echo 'STORE is sqlite or dynamodb' >&2; exit 2; }
	@sh scripts/setup.sh $(firstword $(RUN_$(STORE)))
	@exec $(PYTHON) -m $(lastword $(RUN_$(STORE))) serve --demo --port $(PORT)

offline: ## the whole API under serverless-offline on PORT (3000), its schedules firing
	@sh scripts/setup.sh offline
	@exec $(PYTHON) -m scripts.offline --port $(if $(filter file,$(origin PORT)),3000,$(PORT))

deploy: ## deploy STAGE to AWS; PARAMS="bucket=… sender=…" are those of serverless.yml
	@test -n "$(STAGE)" || { echo 'Say which stage: make deploy STAGE=prod' >&2; exit 2; }
	@sh scripts/setup.sh offline
	@$(PYTHON) -m scripts.deploy $(STAGE) $(if $(filter no,$(BYTECODE)),--source-only) $(PARAMS)

test: ## everything that CI checks
	@$(MAKE) --no-print-directory -j2 setup-checks setup-node
	@$(MAKE) --no-print-directory -j2 lint setup-cloud
	$(PYTHON) -m pytest -q -n 3 $(MEASURED) -m "not without_coverage" \
		--cov --cov-report=term:skip-covered --cov-fail-under=95
	$(PYTHON) -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder $(TOGETHER) \
		-m without_coverage --ignore=$(ALONE)
	$(PYTHON) -m pytest -q $(ALONE)

check: ## the quick inner loop
	@sh scripts/setup.sh test
	@$(MAKE) --no-print-directory lint
	$(PYTHON) -m pytest -q -n 2 tests/unit tests/http

setup-%:
	@sh scripts/setup.sh $*

lint:
	$(PYTHON) -m ruff format --check $(ALL_CODE)
	$(PYTHON) -m ruff check $(ALL_CODE)
	$(PYTHON) -m mypy

bench: ## measure everything, beside other queues too, and write docs/performance.md
	@sh scripts/setup.sh test
	@sh scripts/setup.sh peers
	$(PYTHON) -m tests.benchmarks

test-nfs: ## the store on a real NFSv4.1 server with three clients, in an emulated guest; needs root
	@sh scripts/setup.sh test
	$(PYTHON) -m pytest -q -s --timeout 900 tests/nfs

repeat: ## the proofs of tests/system N (20) times in a row, each time with another seed
	@sh scripts/setup.sh test
	@for round in $$(seq $(N)); do \
		echo "round $$round of $(N)"; \
		$(PYTHON) -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder $(PROOFS) || exit; \
	done

soak: ## everything for long; PART=history, model, races, dynamodb, faults, nfs or fuzz; .soak/ has the logs
	@sh scripts/setup.sh soak
	@sh scripts/setup.sh test
	@$(PYTHON) -m tests.soak $(PART)

generate: ## write openapi.json, infra/http.yml, infra/roles.yml and docs/cli.md anew
	@sh scripts/setup.sh test
	$(PYTHON) -m scripts.generate

# make run, make test, make check: each works from a bare clone. Paths are relative: blanks are fine.
PORT ?= 8080
SECONDS_EACH ?= 60
CASES ?= 20000
PYTHON := .venv/bin/python
IN_PROCESS := tests/unit tests/stores tests/http tests/client tests/worker tests/functions \
	tests/security tests/redaction tests/fuzz/test_fuzz_targets.py
# Processes that nothing slow can upset: these run beside each other too.
COMMANDS := $(wildcard tests/system/test_cli_*.py) tests/system/test_packaging.py \
	tests/system/test_docs_examples.py
ALL_CODE := queuelog_core functions scripts tests

.PHONY: run offline deploy test check bench soak lint generate

run: ## serve on PORT (8080) with sample keys and a worker
	@sh scripts/setup.sh run
	@exec $(PYTHON) -m queuelog_core.cli serve --demo --port $(PORT)

offline: ## the whole API under serverless-offline on PORT (3000), its schedules firing
	@sh scripts/setup.sh offline
	@exec $(PYTHON) -m scripts.offline --port $(if $(filter file,$(origin PORT)),3000,$(PORT))

deploy: ## deploy STAGE to AWS; PARAMS="bucket=… sender=…" are those of serverless.yml
	@test -n "$(STAGE)" || { echo 'Say which stage: make deploy STAGE=prod' >&2; exit 2; }
	@sh scripts/setup.sh offline
	@$(PYTHON) -m scripts.deploy $(STAGE) $(if $(filter no,$(BYTECODE)),--source-only) $(PARAMS)

test: ## everything that CI checks
	@sh scripts/setup.sh test
	@$(MAKE) --no-print-directory lint
	$(PYTHON) -m pytest -q -n 2 $(IN_PROCESS) --cov --cov-report=term:skip-covered --cov-fail-under=95
	$(PYTHON) -m pytest -q -n 2 --dist loadfile $(COMMANDS) tests/contract
	$(PYTHON) -m pytest -q tests/fuzz/test_schema.py tests/fronts tests/system $(COMMANDS:%=--ignore=%)

check: ## the quick inner loop
	@sh scripts/setup.sh test
	@$(MAKE) --no-print-directory lint
	$(PYTHON) -m pytest -q -n 2 tests/unit tests/http

lint:
	$(PYTHON) -m ruff format --check $(ALL_CODE)
	$(PYTHON) -m ruff check $(ALL_CODE)
	$(PYTHON) -m mypy

bench: ## measure everything, beside other queues too, and write docs/performance.md
	@sh scripts/setup.sh test
	@sh scripts/setup.sh peers
	$(PYTHON) -m tests.benchmarks

soak: ## fuzz parsers for SECONDS_EACH (finds stay in .soak/), the API, every front; kill and restart
	@sh scripts/setup.sh soak
	@$(PYTHON) -m tests.fuzz.soak_run $(SECONDS_EACH)
	QUEUELOG_FUZZ_CASES=$(CASES) $(PYTHON) -m pytest -q --timeout 7200 tests/fuzz/test_schema.py
	QUEUELOG_RESTARTS=200 QUEUELOG_KILLS_SECONDS=60 $(PYTHON) -m pytest -q -s --timeout 7200 \
		tests/system/test_rolling_restarts.py tests/system/test_enqueue_under_kills.py
	@sh scripts/setup.sh test
	QUEUELOG_FRONTS=all QUEUELOG_CLIENT_SECONDS=30 $(PYTHON) -m pytest -q tests/fronts

generate: ## write openapi.json, infra/http.yml, infra/roles.yml and docs/cli.md anew
	@sh scripts/setup.sh test
	$(PYTHON) -m scripts.generate

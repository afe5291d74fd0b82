# Everything works from a fresh clone with python3 (3.11 or newer), pip and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
CLIENTS := tests/clients/js
PARALLEL = -n $(or $(WORKERS),4) --dist worksteal
# Examples of property tests: few (15), normal (30). .ci/run and GitHub set CI.
PROFILE ?= $(if $(CI),normal,few)
# The core, and of the rest what takes ten milliseconds a test: no servers, and few processes.
FAST := $(addprefix tests/,schema folds protocols fronts routes generation sessions catalog \
  client/middleware client/github bridge/configuration test_architecture.py test_front_door.py)

# Older ones leave sockets open where a connection is cancelled (anyio, uvloop), or break servers of
# the tests (websockets).
NEWER := anyio uvloop websockets

# Without its cache, each process compiles the library, and pytest every test module, again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: clients coverage demo test test-slow test-fast test-all test-oldest test-clients fuzz lint format bench soak image-check docs docs-table catalog stubs record clean

demo: $(STAMP)-local
	@$(BIN)/llmcore local install
	@$(BIN)/llmcore ask --local --temperature 0 "Why is the sky blue?"

test: $(STAMP)-dev ## all tests but slow ones, in WORKERS processes (4: many wait for servers)
	$(BIN)/python -m pytest $(PARALLEL) --hypothesis-profile=$(PROFILE) \
	  -m "not slow and not local_model"

test-slow: $(STAMP)-dev ## the others: processes, databases, a browser, type checkers, the local model
	@$(BIN)/llmcore local install
	$(BIN)/python -m pytest $(PARALLEL) -m "slow or local_model" \
	  $$(grep -rlE 'mark\.(slow|local_model)' tests --include='test_*.py' --exclude-dir=clients)

test-fast: $(STAMP)-dev ## the core, without what takes a second, with few examples; a process for each core
	$(BIN)/python -m pytest -n $(or $(WORKERS),auto) --dist worksteal --hypothesis-profile=few \
	  -m "not slow and not local_model" $(FAST)

test-all: $(STAMP)-dev ## the tests on every supported Python of this machine
	@$(BIN)/llmcore local install
	@for version in 3.11 3.12 3.13 3.14 3.15; do \
	  python=$$(.ci/find-python $$version) || { echo "python$$version: not on this machine"; continue; }; \
	  echo "== python$$version"; \
	  test -d .venv-$$version || $$python -m venv .venv-$$version; \
	  .venv-$$version/bin/python -m pip install --quiet 'pip>=25.1' || exit 1; \
	  .venv-$$version/bin/python -m pip install --quiet --editable '.[local]' --group dev || exit 1; \
	  .venv-$$version/bin/python -m pytest $(PARALLEL) || exit 1; \
	done

test-oldest: ## the tests with the oldest versions that pyproject.toml allows, except of NEWER
	@test -d .venv-oldest || $(PYTHON) -m venv .venv-oldest
	@.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check uv
	@.venv-oldest/bin/uv pip install --quiet --python .venv-oldest/bin/python --editable '.[local]' --group dev
	@.venv-oldest/bin/uv pip compile --quiet --resolution lowest-direct --output-file .venv-oldest/oldest.txt \
	  $(addprefix --no-emit-package ,$(NEWER)) --python .venv-oldest/bin/python pyproject.toml \
	  $(addprefix --extra ,fast http2 socks mcp redis postgres cli bridge)
	@.venv-oldest/bin/uv pip install --quiet --python .venv-oldest/bin/python --no-deps -r .venv-oldest/oldest.txt
	@.venv-oldest/bin/llmcore local install
	.venv-oldest/bin/python -m pytest $(PARALLEL) -W ignore::DeprecationWarning

fuzz: $(STAMP)-dev ## the property tests with other examples each time; make test has the same ones always
	$(BIN)/python -m pytest $(PARALLEL) -m hypothesis --hypothesis-profile=many

coverage: $(STAMP)-dev ## the lines and branches that the tests reach, in child processes too; slow
	@$(BIN)/llmcore local install
	$(BIN)/python -m coverage erase
	-$(BIN)/python -m coverage run -m pytest $(PARALLEL)  # a test with a deadline may fail by it
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --skip-covered

test-clients: $(STAMP)-dev clients ## clients of others against the gateway: SDKs, the AI SDK, LangChain, coding agents
	@$(BIN)/llmcore local install
	AIDER_BIN=$(abspath $(VENV)-aider/bin) LANGCHAIN_PYTHON=$(abspath $(VENV)-langchain/bin/python) \
	  $(BIN)/python -m pytest tests/clients

clients: $(CLIENTS)/node_modules/.package-lock.json $(STAMP)-aider $(STAMP)-langchain ## install them

$(CLIENTS)/node_modules/.package-lock.json: $(CLIENTS)/package-lock.json
	@command -v npm > /dev/null || { echo "npm is missing: install Node.js 20 or newer" >&2; exit 1; }
	npm install --no-save --prefix $(CLIENTS) --ignore-scripts --no-audit --no-fund --loglevel=error
	npm rebuild --prefix $(CLIENTS) --loglevel=error @anthropic-ai/claude-code opencode-ai
	@touch $@

$(STAMP)-aider $(STAMP)-langchain: $(STAMP)-%: tests/clients/py/%.txt
	@test -d $(VENV)-$* || $(PYTHON) -m venv $(VENV)-$*
	@$(VENV)-$*/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

lint: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/check_prose.py
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 llmcore
	$(BIN)/pyright

format: $(STAMP)-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)-dev
	$(BIN)/python -m benchmarks

soak: $(STAMP)-dev ## minutes of streams that end in every way; SECONDS=600 for longer
	$(BIN)/python -m benchmarks.soak --seconds $(or $(SECONDS),120)
	$(BIN)/python -m benchmarks.soak_bridge --seconds $(or $(SECONDS),120)

image-check: $(STAMP)-dev ## the steps of deploy/Dockerfile, where there is no Docker; about a minute
	$(BIN)/python scripts/check_image.py

docs: $(STAMP)-docs $(STAMP)-dev ## build the site into site/, with markdown twins and llms.txt, and test it in a browser
	PYTHONPATH=. $(BIN)/zensical build --strict
	$(BIN)/python scripts/site_extras.py
	BUILT_SITE=site $(BIN)/python -m pytest tests/docs/test_site.py

catalog: $(STAMP)-dev ## refresh llmcore/catalog/models.json from genai-prices and the facts beside it
	$(BIN)/python scripts/refresh_catalog.py

docs-table: $(STAMP)-dev ## refresh the tables and pages of the docs that are made from code
	$(BIN)/python scripts/provider_table.py
	$(BIN)/python scripts/names_table.py
	$(BIN)/python scripts/settings_table.py
	$(BIN)/python scripts/settings_by_provider.py
	$(BIN)/python scripts/fronts_table.py
	$(BIN)/python scripts/protocol_guide.py
	$(BIN)/python -m scripts.diagnostic_pages
	$(BIN)/python scripts/examples_page.py
	$(BIN)/python scripts/pictures.py
	$(BIN)/python -m scripts.record_terminal

stubs: $(STAMP)-dev ## refresh the __init__.pyi of packages whose names are imported on first use
	$(BIN)/python scripts/write_stubs.py

record: $(STAMP)-dev ## refresh the cassettes that the local model can answer
	@$(BIN)/llmcore local install
	RECORD=true RECORDED_PROVIDER=local $(BIN)/python -m pytest tests/recorded

$(STAMP)-local: pyproject.toml
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) --editable '.[local]'
	@touch $@

$(STAMP)-docs: pyproject.toml
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) 'pip>=25.1'  # the first with dependency groups
	@$(INSTALL) --editable . --group docs
	@touch $@

$(STAMP)-dev: pyproject.toml
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) 'pip>=25.1'
	@$(INSTALL) --editable '.[local]' --group dev
	@touch $@

clean:
	rm -rf $(VENV) .venv-* $(CLIENTS)/node_modules site .cache dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

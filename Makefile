# Everything here runs in .venv, which `scripts/setup.sh` makes and keeps up to date.
#   make train ARGS="--timesteps 300000"    PYTHON=python3.12 picks the interpreter of a new .venv
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
RUN := $(VENV)/bin/python
SETUP := PYTHON="$(PYTHON)" VENV="$(VENV)" ./scripts/setup.sh

.DEFAULT_GOAL := help
.PHONY: help setup train test check format watch play evaluate bench soak phonesoak detector clean

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1|/' \
		| while IFS='|' read -r name text; do printf '  make %-9s %s\n' "$$name" "$$text"; done

setup: ## make or update .venv, and what the system lacks
	@$(SETUP) run

train: ## set up, then train (or resume) and sit the exam
	@$(SETUP) run
	@$(RUN) train_ppo.py $(ARGS)

test: ## set up, then run every test
	@$(SETUP) test
	@$(RUN) -m pytest $(ARGS)

check: ## format, lint, types and tests, changing nothing
	@$(SETUP) test
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy
	@$(RUN) -m pytest $(ARGS)

format: ## format the code and sort its imports
	@$(SETUP) test
	@$(RUN) -m ruff check --select I --fix .
	@$(RUN) -m ruff format .

watch: ## the three windows: see it play
	@$(SETUP) run
	@$(RUN) ppo_acting.py $(ARGS)

play: ## play the game yourself
	@$(SETUP) run
	@$(RUN) -m greatwall play $(ARGS)

evaluate: ## score a player, as in make evaluate ARGS="--policy rule --eyes truth"
	@$(SETUP) run
	@$(RUN) -m greatwall evaluate $(ARGS)

bench: ## measure env, game and worker on this machine
	@$(SETUP) run
	@$(RUN) -m greatwall bench env
	@$(RUN) -m greatwall bench game
	@$(RUN) -m greatwall bench worker

phonesoak: ## half an hour of training on the stand-in phone, with a fault every 20 s
	@$(SETUP) test
	@$(RUN) benchmarks/phone_soak.py $(ARGS)

soak: ## ten minutes on the wall clock without windows: rates, frame age, overruns
	@$(SETUP) run
	@mkdir -p logs
	@$(RUN) ppo_acting.py --headless --seconds 600 --json logs/soak.json $(ARGS)

detector: ## train a detector from random weights into models/new and score it
	@$(SETUP) run
	@$(RUN) -m greatwall detector train $(ARGS)

clean: ## remove caches; .venv, models and logs stay
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

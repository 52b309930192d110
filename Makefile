# `make run` and `make test` do all the set-up on a machine that has Python 3.11 to 3.14 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RELEASE := $(VENV)/release/bin

# Each test goes to one of 8 workers, those that share a fixture of their file to the same one (tests/conftest.py). Each worker imports
# all files with slow tests, which takes it 1 s of CPU.
WAITING := $(BIN)/pytest -q -n 8 --dist loadgroup --no-loadscope-reorder -m "slow and not trial" tests

# To collect all of these takes 10 s of CPU: seven processes have tests of their own, instead of workers that share all. They wait half of
# their time, for timers or processes, so more of them than cores keep the cores busy.
QUICK_MARKS := not slow
COMPUTING = nice -n 5 $(BIN)/pytest -q -m "$(QUICK_MARKS)"
APP_TESTS := $(wildcard tests/tui/test_app*.py tests/tui/test_picker*.py) tests/tui/test_exporting.py
SCREEN_TESTS := tests/tui
ANALYSIS_TESTS := tests/analysis tests/model tests/session tests/wording
RUN_TESTS := tests/run tests/replay tests/report
GEVENT_TESTS := tests/load/under_gevent
LOAD_TESTS := tests/load tests/steer tests/read tests/target
QUICK := quick-app-tests quick-screen-tests quick-analysis-tests quick-run-tests quick-load-tests quick-gevent-tests quick-other-tests

# Hundreds of fresh processes would compile the same files again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test slow-tests quick-tests $(QUICK) short-trials near near-tests check lint pages pictures bench experiments faults net verdicts-diff parts compose fuzz kills hangups lost-workers conformance knees llm moving operating protocols services stacks sweeps aa ab mutants release distributions distributions-tools site setup built wheel wheel-tests clean

run: setup
	$(BIN)/capexplorer run mixed

# Slow tests mostly wait for processes; the others compute, at a lower priority, while they wait. All always run to their end.
test: setup built
	$(MAKE) --no-print-directory --jobs=8 --keep-going slow-tests $(QUICK)

slow-tests: setup built
	$(WAITING)

quick-tests: setup built
	$(MAKE) --no-print-directory --jobs=7 --keep-going $(QUICK)

quick-app-tests: setup built
	$(COMPUTING) $(APP_TESTS)

quick-screen-tests: setup built
	$(COMPUTING) $(SCREEN_TESTS) $(addprefix --ignore=,$(APP_TESTS))

quick-analysis-tests: setup built
	$(COMPUTING) $(ANALYSIS_TESTS)

quick-run-tests: setup built
	$(COMPUTING) $(RUN_TESTS)

quick-load-tests: setup built
	$(COMPUTING) $(LOAD_TESTS) --ignore=$(GEVENT_TESTS)

quick-gevent-tests: setup built
	$(COMPUTING) $(GEVENT_TESTS)

quick-other-tests: setup built
	$(COMPUTING) tests $(addprefix --ignore=,$(SCREEN_TESTS) $(ANALYSIS_TESTS) $(RUN_TESTS) $(LOAD_TESTS))

# What differs from main, or BASE=commit: all of lint, and the nearest tests for at most 10 s of CPU.
near: setup
	$(MAKE) --no-print-directory --jobs=2 --keep-going lint near-tests

near-tests: setup
	$(BIN)/python -m lab.near $(BASE)

# Under two minutes on two quiet cores. Left to `make test`: slow tests, random examples, tests of the load and of targets (which wait
# for real processes), and those that press keys in the whole application.
check: lint
	$(MAKE) --no-print-directory --jobs=4 --keep-going QUICK_MARKS="not slow and not hypothesis" $(filter-out quick-app-tests quick-load-tests quick-gevent-tests,$(QUICK))

# One short form of each long trial below, two minutes. They measure, so no other test runs beside them.
short-trials: setup built
	$(BIN)/pytest -n 2 --dist loadfile -m trial tests/lab

# Compiled targets, before the tests: with a cold cache that takes longer than tests wait. Without Go the tests of them are skipped.
built: setup
	$(BIN)/python targets/kv-go/start.py -build || ! command -v go >/dev/null

lint: setup
	$(BIN)/ruff format --check capexplorer tests lab targets profiles docs
	$(BIN)/ruff check capexplorer tests lab targets profiles docs
	$(BIN)/python -m lab.phrases
	$(BIN)/mypy
	$(BIN)/lint-imports

# Two minutes: judges 500 sessions again and compares with what they were judged to be; digests of exports are compared by `make test`.
net: setup
	$(BIN)/python -m lab.net check

# OLD=before.jsonl NEW=after.jsonl, each written by `python -m lab.net freeze`: what changed between two commits, by kind.
verdicts-diff: setup
	$(BIN)/python -m lab.net diff $(OLD) $(NEW)

# SAVE=before.json keeps what is printed; NAMES="look paint" for some. Two such files: .venv/bin/python -m lab.bench compare OLD NEW.
bench: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -r lab/bench/requirements.lock
	$(BIN)/python -m lab.bench $(if $(SAVE),--save $(SAVE)) $(NAMES)

experiments: setup
	$(BIN)/python -m lab.trials experiments $(NAMES)

faults: setup
	$(BIN)/python -m lab.trials faults $(ROWS)

# 40 minutes as root, or some rows: ROWS="db-lock link-cut".
parts: setup
	$(BIN)/python -m lab.trials parts $(ROWS)

# 3 minutes where docker is, or some rows: ROWS="app-killed beside-others".
compose: setup
	$(BIN)/python -m lab.trials compose $(ROWS)

# COUNT=1000 SEED=7 for a short run; each failure prints the seed that repeats it. 100,000 logs take about 20 minutes of CPU. Last, the
# tests with random examples, with new ones.
fuzz: setup
	$(BIN)/python -m lab.trials fuzz-logs --count $(or $(COUNT),100000) --seed $(or $(SEED),1) --save
	$(BIN)/python -m lab.trials fuzz-plans --count $(or $(COUNT),50000) --seed $(or $(SEED),1) --save
	$(BIN)/python -m lab.trials fuzz-profiles --count $(or $(COUNT),20000) --seed $(or $(SEED),1) --save
	$(BIN)/pytest -q -n 2 -m hypothesis --hypothesis-profile new-examples tests

# 20 minutes on a quiet machine. COUNT=60 SEED=7 for a short run; each failure prints the seed that repeats it.
kills: setup
	$(BIN)/python -m lab.trials kills --count $(or $(COUNT),500) --seed $(or $(SEED),0) --save

# 40 minutes, as root: SSH clients of live runs killed at random moments. COUNT=10 SEED=7 for a short run.
hangups: setup
	$(BIN)/python -m lab.trials hangups --count $(or $(COUNT),100) --seed $(or $(SEED),0) --save

# 25 minutes: workers of runs killed or stopped at random moments. COUNT=4 SEED=7 for a short run.
lost-workers: setup
	$(BIN)/python -m lab.trials lost-workers --count $(or $(COUNT),50) --seed $(or $(SEED),0) --save

# Five minutes: examples of Locust's documentation in Locust and here. NAMES="tags pytest-functions" for a short run.
conformance: setup
	$(BIN)/python -m lab.trials conformance $(NAMES)

# An hour and a half on two cores. PARTS="simulated rates" SEEDS=5 FIRST_SEED=905000 for a short run, PARTS=live EXPLORATIONS=1 for
# one round of real services. Two rivals run themselves, from .rivals/; brk is left out without cargo.
knees: setup .rivals/.ready
	$(BIN)/pip install --quiet --disable-pip-version-check -r lab/bench/requirements.lock
	$(BIN)/python -m lab.trials knees $(PARTS) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(FIRST_SEED),--first-seed $(FIRST_SEED)) $(if $(EXPLORATIONS),--explorations $(EXPLORATIONS))

.rivals/.ready: lab/trials/knees/rivals.lock
	$(BIN)/python -m venv .rivals
	.rivals/bin/pip install --quiet --disable-pip-version-check -r lab/trials/knees/rivals.lock
	if command -v cargo > /dev/null; then cargo install --quiet --locked --root .rivals break@0.1.0; fi
	touch .rivals/.ready

# 30 minutes: a language model's server whose law is known; the same server by guidellm and aiperf, each in a venv of its own.
llm: setup
	for tool in guidellm==0.8.1 aiperf==0.13.0; do $(BIN)/python -m venv .rivals/$${tool%%=*} && .rivals/$${tool%%=*}/bin/pip install --quiet --disable-pip-version-check $$tool; done
	$(BIN)/python -m lab.trials llm $(NAMES)
	$(BIN)/python -m lab.trials llm-beside

# 45 minutes: real services that change while they are explored. NAMES="upstream-dies-at-first" for some.
moving: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -r lab/trials/services.lock
	$(BIN)/python -m lab.trials moving $(NAMES)

# 40 minutes. What a service needs and is not installed is left out, with a line that says which package brings it.
services: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -r lab/trials/services.lock
	$(BIN)/python -m lab.trials services $(NAMES)
# 20 minutes: the samples of other protocols, each with a pool of known size, and with its faults.
protocols: setup
	$(BIN)/python -m lab.trials protocols $(NAMES)

# 20 minutes: whether sampled stacks name the line at which a cause is planted, of 26 services.
stacks: setup
	$(BIN)/python -m lab.trials stacks $(NAMES)
# 30 minutes: ten minutes of the load that is recommended, on each of the ten services.
operating: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -r lab/trials/services.lock
	$(BIN)/python -m lab.trials operating $(NAMES)
# 15 minutes: sweeps over a parameter of three real services.
sweeps: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -r lab/trials/services.lock
	$(BIN)/python -m lab.trials sweeps $(NAMES)
# Equal runs beside each other: simulated ones (4 minutes of CPU), then REPEATS=5 real runs of five services (20 minutes).
aa: setup
	$(BIN)/python -m lab.trials aa-simulated --count $(or $(PAIRS),120) --save
	$(BIN)/python -m lab.trials aa-constructed --save
	$(BIN)/python -m lab.trials aa-real --count $(or $(REPEATS),5) --save

# A/B runs: simulated ones (5 minutes of CPU), then REPEATS=2 of nine pairs of real services (an hour).
ab: setup
	$(BIN)/python -m lab.trials ab-simulated --count $(or $(PAIRS),100) --save
	$(BIN)/python -m lab.trials ab-quiet --save
	$(BIN)/python -m lab.trials ab-real --count $(or $(REPEATS),2) --save

# The mutation score of a package or a module, by quick tests, and what lived: minutes. COUNT=300 SEED=1 are the sample, TESTS="tests/x"
# others than those that import it, SAVE=file.jsonl keeps it. Two such files: .venv/bin/python -m lab.mutants compare OLD NEW.
mutants: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -r lab/mutants/requirements.lock
	$(BIN)/python -m lab.mutants run $(PACKAGE) --count $(or $(COUNT),300) --seed $(or $(SEED),1) $(if $(SAVE),--save $(SAVE)) $(if $(TESTS),--tests $(TESTS))

# Every generated page of docs/, from the code and the results that are kept.
pages: setup
	$(BIN)/python -m docs.pages

# The tour's pictures, from sample sessions, and those of the README.
pictures: setup
	$(BIN)/python -m docs.tour
	$(BIN)/python docs/pictures.py sessions/sample.jsonl docs/pictures
	$(BIN)/python docs/pictures.py sessions/sample-ports.jsonl docs/pictures ports-warning 15
	$(BIN)/python docs/pictures.py sessions/sample-ports.jsonl docs/pictures ports-failures inf f

# make release VERSION=0.2.0: a commit with the version and its section of CHANGELOG.md, a tag, and in dist/ what is to be published.
release: distributions-tools
	$(RELEASE)/python -m lab.release $(VERSION)

# The same of the present commit, without commit and tag: what the workflow of a tag publishes.
distributions: distributions-tools
	$(RELEASE)/python -m lab.release --check

distributions-tools:
	$(PYTHON) -m venv $(VENV)/release
	$(RELEASE)/pip install --quiet --disable-pip-version-check -r lab/release/requirements.lock

# The site of docs/, in site/, by an environment of its own; fails where a link leads nowhere. For its search: python3 -m http.server -d site
site: setup
	$(PYTHON) -m venv $(VENV)/site
	$(VENV)/site/bin/pip install --quiet --disable-pip-version-check -r docs/site.lock
	$(BIN)/python -m docs.site $(VENV)/site/bin/zensical

setup: $(READY)

# The versions of `requires-python` in pyproject.toml. With another one pip would list every version of a package that it refuses.
RIGHT_PYTHON := import sys; (3, 11) <= sys.version_info < (3, 15) and print("right")

$(READY): requirements.lock pyproject.toml
	$(if $(shell $(PYTHON) -c '$(RIGHT_PYTHON)' 2>/dev/null),,$(error $(PYTHON) is not Python 3.11, 3.12, 3.13 or 3.14; name one: make $(or $(MAKECMDGOALS),run) PYTHON=python3.11))
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(EDITABLE) .
	touch $(READY)

# `make setup EDITABLE=` installs the package from its wheel.
EDITABLE := --editable

wheel: setup
	$(BIN)/python -m hatchling build -t wheel

# All tests on the wheel of the last commit: in a fresh clone with cold caches, from which the sources of the package are removed.
wheel-tests:
	clone=$$(mktemp -d) && trap 'rm -rf "$$clone"' EXIT && git clone --quiet . "$$clone" && $(MAKE) -C "$$clone" setup EDITABLE= && \
	    rm -r "$$clone/capexplorer" && XDG_CACHE_HOME="$$clone/.cache" $(MAKE) -C "$$clone" test

clean:
	rm -rf $(VENV) dist site

"""`python -m lab.trials.kills [--count N] [--seed S] [--parallel P] [--save]`."""

from lab.trial import run

from .trial import Kills

run(Kills())

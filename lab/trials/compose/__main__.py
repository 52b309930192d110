"""`python -m lab.trials.compose [ROW...]`: exit code 1 when a row has a problem, 0 when none has or docker is not installed."""

from lab.trial import run

from .trial import CASES, Compose

run(Compose(CASES))

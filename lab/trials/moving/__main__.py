"""`make moving`: every row with both clients; results and docs/moving.md are written as each run ends.

python -m lab.trials.moving [ROW...] [--axis users|rates] [--client C] [--workers N] [--repeats N] [--parallel N] [--unsaved]
"""

from lab.trial import run

from .trial import ALL, Moving

run(Moving(ALL))

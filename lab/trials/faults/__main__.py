"""`make faults`: all rows, or `python -m lab.trials.faults [ROW...] [--client C] [--family F] [--workers N] [--keep FOLDER]`."""

from lab.trial import run

from .trial import ALL, Faults

run(Faults(ALL))

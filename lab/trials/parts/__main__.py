"""`make parts`: all rows, or `python -m lab.trials.parts [ROW...] [--place P] [--attempts N] [--keep FOLDER] [--unsaved]`."""

from lab.trial import run

from .trial import ALL, Parts

run(Parts(ALL))

"""`make aa`: `python -m lab.trials.aa simulated|constructed|real [--save]`."""

from .trial import main

main()

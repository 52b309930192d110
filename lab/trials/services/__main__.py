"""`make services`: the autopilot on ten services of known capacity; results and docs/services.md.

python -m lab.trials.services [SERVICE...] [--repeats N] [--parallel N]
"""

from lab.trial import run

from .trial import SERVICES, Services

run(Services({each.name: each for each in SERVICES}))

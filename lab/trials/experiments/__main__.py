"""`make experiments`: all; `make experiments NAMES="five-short"`: some. `--only mixed` for some runs of them."""

from lab.trial import run

from .trial import Experiments

run(Experiments())

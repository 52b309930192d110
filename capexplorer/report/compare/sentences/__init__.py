"""All sentences and figures of a comparison as plain text, which the caller escapes. Every claim states its noise."""

from .cells import BEYOND, JUDGEMENTS, MISSING, NOISE, change, judgement, noise, overall, percent, ratio, value
from .curve_facts import began, curve, knee, marked, overheads
from .outcome import found, verdict
from .reservations import names, warnings

__all__ = [
    "BEYOND", "JUDGEMENTS", "MISSING", "NOISE", "began", "change", "curve", "found", "judgement", "knee", "marked", "overheads",
    "names", "noise", "overall", "percent", "ratio", "value", "verdict", "warnings",
]  # fmt: skip

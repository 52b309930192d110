"""All sentences and figures of a comparison as plain text, which the caller escapes. Every claim states its noise."""

from .cells import (
    BEYOND,
    JUDGEMENTS,
    MISSING,
    NOISE,
    after,
    before,
    change,
    heading,
    judgement,
    noise,
    overall,
    percent,
    ratio,
    unit,
)
from .curve_facts import began, curve, knee, marked, overheads
from .outcome import found, verdict
from .reservations import names, warnings

__all__ = [
    "BEYOND", "JUDGEMENTS", "MISSING", "NOISE", "after", "before", "began", "change", "curve", "found", "heading", "judgement",
    "knee", "marked", "names", "noise", "overall", "overheads", "percent", "ratio", "unit", "verdict", "warnings",
]  # fmt: skip

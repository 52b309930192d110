"""All sentences and figures of a comparison as plain text, which the caller escapes. Every claim states its figures' noise."""

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
from .outcome import verdict, verdict_sentence
from .reservations import names, warnings

__all__ = [
    "BEYOND", "JUDGEMENTS", "MISSING", "NOISE", "after", "before", "began", "change", "curve", "heading", "judgement",
    "knee", "marked", "names", "noise", "overall", "overheads", "percent", "ratio", "unit", "verdict",
    "verdict_sentence", "warnings",
]  # fmt: skip

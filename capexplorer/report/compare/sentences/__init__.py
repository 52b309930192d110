"""All sentences and figures of a comparison as plain text, which the caller escapes. Every claim states its figures' noise."""

from .cells import (
    MISSING,
    NOISE,
    after,
    before,
    change,
    heading,
    judgement,
    noise,
    overall,
    ratio,
    unit,
)
from .curve_facts import began, curve, knee, marked, overheads
from .outcome import verdict, verdict_sentence
from .reservations import warnings

__all__ = [
    "MISSING", "NOISE", "after", "before", "began", "change", "curve", "heading", "judgement",
    "knee", "marked", "noise", "overall", "overheads", "ratio", "unit", "verdict",
    "verdict_sentence", "warnings",
]  # fmt: skip

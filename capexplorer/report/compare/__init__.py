"""Compares sessions level by level, and lists conditions that invalidate the comparison. Every format shows one Comparison.

    compare(sessions) -> Comparison --> markdown | html | json | the screen | judge(conditions)

Pure: reads timelines, never files. Noise is the variation within the sessions plus an allowance for the variation between runs
(docs/compare.md).
"""

from .comparison import Comparison, Session
from .curves import curve_of_last
from .estimates import SecondLatencies
from .pairing import compare

__all__ = ["Comparison", "SecondLatencies", "Session", "compare", "curve_of_last"]

"""Sessions beside each other: curves, level by level, and what may not be compared. Every form draws from one Comparison.

    compare(sessions) -> Comparison --> markdown | html | json | the screen | judge(conditions)

Pure: reads timelines, never files. Noise is what varies within the sessions, and an allowance for what differs from run to run
(docs/compare.md).
"""

from .across_sessions import compare
from .comparison import Comparison, Session
from .second_latencies import SecondLatencies

__all__ = ["Comparison", "SecondLatencies", "Session", "compare"]

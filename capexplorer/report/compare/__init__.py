"""Sessions beside each other: curves, level by level, and what may not be compared. Every form draws from one Comparison.

    compare(sessions) -> Comparison --> markdown | html | json | the screen | judge(conditions)

Pure: reads timelines, never files. Noise is what standard errors within the sessions say; what differs from run to run is not in
it, and every form says so.
"""

from .comparison import Comparison, Session, compare

__all__ = ["Comparison", "Session", "compare"]

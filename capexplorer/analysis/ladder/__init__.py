"""Levels as the knee detector takes them: one plain value per level, whether from a timeline, a table or a simulator.

Decides which levels count (settled, of one epoch) and how levels of one user count are pooled; does not judge capacity. Which
levels are recovery from overload is decided in `epoch.recovery`, because that needs a verdict on the earlier levels.
"""

from .ladder_level import RELATIVE_ERROR_FLOOR, SHORT_ERROR, SHORT_S, LadderLevel
from .measured import JudgedPart, Measured, ladder_level, measured_of, parts
from .pooling import pooled

__all__ = [
    "RELATIVE_ERROR_FLOOR", "SHORT_ERROR", "SHORT_S", "LadderLevel", "JudgedPart", "Measured", "ladder_level", "measured_of",
    "parts", "pooled",
]  # fmt: skip

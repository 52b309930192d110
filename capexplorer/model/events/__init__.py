"""The events of a session: everything that happens in it is one of them.

Live, saved and replayed sessions are the same sequence of events. `t_s` is seconds since the start of the session, on a monotonic
clock; only the header has a wall time. Events of an unknown type are read as `Unknown`; unknown fields are ignored.
"""

from ..offered import Arrivals, Drops, OfferedTick
from .event import By, Event, Unknown
from .level_bounds import LevelClosed, LevelOpened
from .mark import Mark, Verdict
from .part import PartState
from .process_events import Ended, Log, Target, TargetState
from .proposed import Proposed
from .reanalysed import FigureChange, MarkChange, Reanalysed
from .sample import ClientTick, EndpointTick, FailureSignature, FailureTick, Phase, Sample
from .session_header import SCHEMA, ClientOverhead, Engine, Header, HostFacts, TargetFacts
from .user_events import Command, Note

KnownEvent = (
    Header
    | LevelOpened
    | Sample
    | LevelClosed
    | Mark
    | Note
    | Command
    | Proposed
    | Target
    | PartState
    | Log
    | Reanalysed
    | Verdict
    | Ended
)
"""All types of events in a log of this version; others are read as `Unknown`."""

__all__ = [
    "SCHEMA", "Arrivals", "By", "ClientOverhead", "ClientTick", "Command", "Drops", "Ended", "EndpointTick", "Engine", "Event",
    "FailureSignature", "FailureTick", "FigureChange", "Header", "HostFacts", "KnownEvent", "LevelClosed",
    "LevelOpened", "Log", "Mark", "MarkChange", "Note", "OfferedTick", "PartState", "Phase", "Proposed", "Reanalysed", "Sample",
    "Target", "TargetFacts", "TargetState", "Unknown", "Verdict",
]  # fmt: skip

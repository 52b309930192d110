"""How marks of this version's detectors differ from the recorded ones."""

from __future__ import annotations

from typing import Any, Literal

from ..readings import Reading
from .event import Event
from .mark import Mark


class FigureChange(Reading, frozen=True, kw_only=True):
    """A figure of a mark that changed."""

    name: str
    """A field of the mark, or a key of its evidence."""
    recorded: Any = None
    found: Any = None


class MarkChange(Reading, frozen=True, kw_only=True):
    """The difference between a recorded mark and the same mark of a reanalysis."""

    kind: Literal["new", "gone", "changed"]
    key: str
    recorded: Mark | None = None
    """The recorded mark; None if it is new."""
    found: Mark | None = None
    """The mark found now; None if it is gone."""
    figures: tuple[FigureChange, ...] = ()
    """Figures that changed; empty unless `kind` is `changed`."""


class Reanalysed(Event, frozen=True, kw_only=True, tag="reanalysed"):
    """The marks of this sequence are those of a reanalysis, not the recorded ones. Follows the header; never live."""

    version: str
    """Version of the app whose detectors ran."""
    recorded: int
    found: int
    """Numbers of marks of detectors, recorded and found now."""
    changes: tuple[MarkChange, ...] = ()

"""How the marks of today's detectors differ from those that a log holds."""

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
    """The change of one mark when the detectors ran again."""

    kind: Literal["new", "gone", "changed"]
    key: str
    recorded: Mark | None = None
    """None when it is new."""
    found: Mark | None = None
    """None when it is gone."""
    figures: tuple[FigureChange, ...] = ()
    """Which changed; empty unless `kind` is `changed`."""


class Reanalysed(Event, frozen=True, kw_only=True, tag="reanalysed"):
    """The marks of this sequence are not those recorded: detectors ran over it again. Follows the header; never in a live
    session.
    """

    version: str
    """Version of the app whose detectors ran."""
    recorded: int
    found: int
    """Number of detectors' marks before and after."""
    changes: tuple[MarkChange, ...] = ()

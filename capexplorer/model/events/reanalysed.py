"""How the marks of today's detectors differ from those that a log holds."""

from __future__ import annotations

from typing import Any, Literal

from ..readings import Reading
from .event import Event
from .mark import Mark


class FigureChange(Reading, frozen=True, kw_only=True):
    """A figure of a mark that is another one now."""

    name: str
    """A field of the mark, or a key of its evidence."""
    recorded: Any = None
    found: Any = None


class MarkChange(Reading, frozen=True, kw_only=True):
    """What became of one mark when the detectors ran again."""

    kind: Literal["new", "gone", "changed"]
    key: str
    recorded: Mark | None = None
    """None when it is new."""
    found: Mark | None = None
    """None when it is gone."""
    figures: tuple[FigureChange, ...] = ()
    """Which changed; empty unless `kind` is `changed`."""


class Reanalysed(Event, frozen=True, kw_only=True, tag="reanalysed"):
    """The marks of this sequence are not those recorded: detectors ran over it again. Stands behind the header; never live."""

    version: str
    """Of the app whose detectors they are."""
    recorded: int
    found: int
    """How many marks of detectors there were, and are."""
    changes: tuple[MarkChange, ...] = ()

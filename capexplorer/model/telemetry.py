"""What a service's own telemetry did where its capacity curve bends: log lines that began there, metrics that changed there.

It is a correlation with the load, not a cause. Texts are from outside: escape before display.
"""

from __future__ import annotations

from typing import Literal

from .readings import Reading

SeriesKind = Literal["gauge", "rate", "mean"]
"""A value as it is read, the growth of a counter per second, or the mean of what a histogram or a summary observed."""

UnknownWhy = Literal["few_levels", "none_below", "none_beyond"]
"""Why nothing is known: there are too few levels, or none of less or of more load."""


class BentSeries(Reading, frozen=True, kw_only=True):
    """A series that changes where the curve does."""

    name: str
    """As the service names it, with labels in braces if each label set is a series."""
    part: str = ""
    """Watched part whose metrics have it; empty: the target's own metrics."""
    kind: SeriesKind
    before: float
    load_before: float
    """Its mean at the highest load below the bend."""
    after: float
    load_after: float
    """Its mean at the highest load."""
    since_s: float
    """Start of the first level beyond the bend, in seconds of the session."""
    q: float
    """Share of false findings to expect among all series that are at least as clear (Benjamini-Hochberg)."""


class BegunLines(Reading, frozen=True, kw_only=True):
    """Lines of the target's log that are equal but for numbers, ids and times, and began, or became more, beyond the bend."""

    text: str
    """With `#` in place of what varies. An exception's first line keeps its numbers."""
    is_exception: bool = False
    count_below: int
    """Lines in levels below the bend."""
    count: int
    """Lines in levels beyond it."""
    first_s: float
    """Time of the first line beyond the bend, in seconds of the session."""
    load: float
    """Load at that time."""
    q: float
    """As of a BentSeries, among the groups of lines."""


class TelemetryChanges(Reading, frozen=True, kw_only=True):
    """What the telemetry of one epoch did at the bend of its curve."""

    bend: float | None = None
    """Users, or the offered rate, of the bend; None: there is none."""
    at_rates: bool = False
    unknown_why: UnknownWhy | None = None
    series: tuple[BentSeries, ...] = ()
    """The clearest first."""
    lines: tuple[BegunLines, ...] = ()
    """Exceptions first, then the most frequent ones."""
    tested: int = 0
    """Series that were compared: all that changed at all."""
    recorded: int = 0
    """Series that were read."""
    groups: int = 0
    """Groups of lines that were compared."""
    is_after_only: bool = False
    """Whether no level below the bend came after one beyond it, so that time may be the reason instead of load."""

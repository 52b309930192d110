"""What the service's own log and metrics did where its curve bends, in words. Names and lines are untrusted text."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..analysis.telemetry.bends import LEVELS_LEAST, Q_MOST
from ..model.telemetry import BegunLines, BentSeries, TelemetryChanges, UnknownWhy
from ..model.timeline import Timeline
from . import numbers, quantities
from .verdict import epoch_title, judgement

TITLE = "The service's own log and metrics where the curve bends"

_UNKNOWN: dict[UnknownWhy, str] = {
    "none_below": "no level below it was measured",
    "none_beyond": "no level beyond it was measured",
    "few_levels": f"fewer than {LEVELS_LEAST} levels were measured",
}


class TelemetryItem(msgspec.Struct, frozen=True):
    """A series or a group of lines."""

    text: str
    """The name, or the line. Untrusted."""
    words: str
    """`rose from 0 to 31 between 24 and 48 users, from 03:05 on`."""


class TelemetrySection(msgspec.Struct, frozen=True):
    """What is known of one epoch."""

    about: str
    """How much was compared, and what that means."""
    lines: tuple[TelemetryItem, ...] = ()
    series: tuple[TelemetryItem, ...] = ()

    @property
    def items(self) -> tuple[TelemetryItem, ...]:
        """All, lines first."""
        return self.lines + self.series


def telemetry(timeline: Timeline) -> list[TelemetrySection]:
    """A section for each epoch whose telemetry was compared, without those whose results do not describe the service."""
    return [
        _section(event.changes, epoch_title(timeline, epoch))
        for epoch, event in sorted(timeline.telemetry.items())
        if event.changes.bend is not None and not judgement(timeline, epoch).invalid
    ]


def _section(changes: TelemetryChanges, epoch: str) -> TelemetrySection:
    about = " ".join(_about(changes))
    return TelemetrySection(
        about=f"{epoch}: {about}" if epoch else about,
        lines=tuple(TelemetryItem(each.text, _lines(each, changes)) for each in changes.lines),
        series=tuple(
            TelemetryItem(f"{each.part}: {each.name}" if each.part else each.name, _series(each, changes))
            for each in changes.series
        ),
    )


def _name(each: BentSeries) -> str:
    return f"{each.part}: {each.name}" if each.part else each.name


def _load(amount: float, changes: TelemetryChanges) -> str:
    return quantities.load(None, amount) if changes.at_rates else numbers.counted(amount)


def _about(changes: TelemetryChanges) -> Iterator[str]:
    bend = _load(changes.bend or 0.0, changes)
    if changes.unknown_why is not None:
        yield f"Nothing is known of its own log and metrics at {bend}: {_UNKNOWN[changes.unknown_why]}."
        return
    compared = [f"{numbers.count(changes.tested)} of {numbers.count(changes.recorded)} series vary"] if changes.recorded else []
    compared += [numbers.several(changes.groups, "kind") + " of lines"] if changes.groups else []
    if not (changes.series or changes.lines):
        yield f"None of its own log lines and metrics was found to change at {bend} ({', '.join(compared)})."
        return
    yield f"These change at {bend}, where the curve bends ({', '.join(compared)}; of such findings {Q_MOST:.0%} may be chance)."
    yield "They go with the load, and may be its effect: no cause is named."
    if changes.is_after_only:
        yield "No lower load was measured after the bend, so that time may be the reason instead of load."


def _series(each: BentSeries, changes: TelemetryChanges) -> str:
    unit = "/s" * (each.kind == "rate")
    verb = "rose" if each.after > each.before else "fell"
    what = "mean " if each.kind == "mean" else ""
    ends = f"from {numbers.number(each.before)}{unit} to {numbers.number(each.after)}{unit}"
    loads = f"between {_load(each.load_before, changes)} and {_load(each.load_after, changes)}"
    return f"{what}{verb} {ends} {loads}, from {numbers.session_time(each.since_s)} on"


def _lines(each: BegunLines, changes: TelemetryChanges) -> str:
    count = numbers.several(numbers.count(each.count), "line") if each.count != 1 else "1 line"
    before = f"{numbers.count(each.count_below)} at lower load" if each.count_below else "none at lower load"
    return f"{count}, {before}, from {numbers.session_time(each.first_s)} on at {_load(each.load, changes)}"

"""`--redact`: replaces the names of watched parts, which are often those of hosts, by numbers, and removes their places."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..model.events import Event, Header, LevelClosed, Mark, PartState, Reanalysed, Sample
from ..model.figures import LevelFigures
from ..model.findings import Blame, Cause

PART = "part-{}"
_HIDDEN = "redacted-host"
_NAMING = ("idle_parts", "may_wait_in", "peers_at_ease")
"""Readings whose values are names of parts."""


class RenamedParts:
    """Numbers the watched parts in the order in which the session names them, and replaces their names in events."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def _name(self, name: str) -> str:
        return self._numbers.setdefault(name, PART.format(len(self._numbers) + 1))

    def renamed(self, event: Event) -> Event:
        """The event with numbers in place of the names of parts."""
        match event:
            case Header():
                asked = event.profile.get("watch") or ()
                watched = [{"name": self._name(str(each.get("name"))), "at": _HIDDEN} for each in asked]
                return replace(event, profile={**event.profile, "watch": watched}) if watched else event
            case PartState():
                host = replace(event.host, name=None)
                machine = event.machine if event.machine in (None, "generator") else self._name(event.machine)
                reason = None if event.reason is None else _HIDDEN
                return replace(event, name=self._name(event.name), place=_HIDDEN, reason=reason, host=host, machine=machine)
            case Sample() if event.parts:
                return replace(event, parts=tuple(replace(each, name=self._name(each.name)) for each in event.parts))
            case LevelClosed():
                bins = tuple(replace(each, figures=self._figures(each.figures)) for each in event.bins)
                return replace(event, figures=self._figures(event.figures), bins=bins)
            case Mark():
                return self._mark(event)
            case Reanalysed():
                changes = (replace(each, key=self._key(each.key), recorded=each.recorded and self._mark(each.recorded),
                                   found=each.found and self._mark(each.found)) for each in event.changes)  # fmt: skip
                return replace(event, changes=tuple(changes))
        return event

    def _figures(self, figures: LevelFigures) -> LevelFigures:
        if not any(key.startswith("part.") for key in figures.readings):
            return figures
        return replace(figures, readings={self._reading(key): value for key, value in figures.readings.items()})

    def _reading(self, key: str) -> str:
        kind, _, rest = key.partition(".")
        name, _, own = rest.partition(".")
        return f"part.{self._name(name)}.{own}" if kind == "part" else key

    def _mark(self, mark: Mark) -> Mark:
        finding = mark.finding
        if not isinstance(finding, Blame):
            return mark
        if finding.part is None and not finding.unavailable and finding.readings.keys().isdisjoint(_NAMING):
            return mark
        renamed: dict[str, Any] = {
            "part": None if finding.part is None else self._name(finding.part),
            "unavailable": tuple(self._unread(each) for each in finding.unavailable),
        }
        named = {key: names for key in _NAMING if isinstance(names := finding.readings.get(key), str)}
        listed = {key: ", ".join(map(self._name, names.split(", "))) for key, names in named.items()}
        renamed["readings"] = {**finding.readings, **listed}
        if isinstance(finding, Cause) and finding.part is not None:
            renamed["example"] = _HIDDEN if finding.example else ""
        return replace(mark, key=self._key(mark.key), finding=replace(finding, **renamed))

    def _unread(self, reading: str) -> str:
        return f"part {self._name(reading.removeprefix('part '))}" if reading.startswith("part ") else reading

    def _key(self, key: str) -> str:
        """The key of a mark, of which the last piece may be the part's name."""
        return ":".join(self._numbers.get(each, each) if index > 1 else each for index, each in enumerate(key.split(":")))

"""The rows of watched parts in the resources pane: each shows the resource that is nearest to its limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...model.events import HostFacts, PartState
from ...model.readings import LATE_S, HostReading, PartReading, TargetReading
from ...model.timeline import Timeline
from ...wording import numbers, quantities
from ..display_options import Palette
from ..render import text
from .resource_row import Row

# -- part uses -----------------------------------------------------------------------------------------------------------------
# The resources of a watched part with their limits, the one nearest to its limit first. Pure.


Shown = Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class Use:
    """One resource of a part, e.g. `cpu`, `1.82`, `of 2 cores`, 0.91."""

    name: str
    number: str
    unit: str
    share: float | None = None
    """The used share of its limit, 0 to 1 or more; None: it has no limit."""

    @property
    def in_words(self) -> str:
        """As a detail of a row: `fds 40 of 1,024`."""
        return " ".join(filter(None, (self.name, self.number, self.unit)))


@dataclass(frozen=True, slots=True)
class PartUse:
    """A part in one tick. `uses` is empty if it was not read in this tick."""

    name: str
    uses: tuple[Use, ...]
    reading: PartReading
    known: PartState | None

    @property
    def share(self) -> float:
        """The used share of the resource that is nearest to its limit."""
        return max((use.share for use in self.uses if use.share is not None), default=0.0)

    @property
    def state(self) -> str:
        """`stale: read 4 s ago`, `not read: Connection refused`; empty if it is read."""
        age_s, known = self.reading.age_s, self.known
        if known is not None and known.state == "unread":
            return f"not read: {text.safe(known.reason or '')}"
        if age_s is None:
            return "not read yet"
        if age_s >= LATE_S:
            return f"stale: read {text.span(age_s)} ago"
        return text.safe(known.reason) if known is not None and known.reason else ""

    @property
    def is_missing(self) -> bool:
        """Whether the part could not be read, or not lately."""
        return bool(self.state) and self.reading.age_s is not None or (self.known is not None and self.known.state == "unread")


def part_uses(timeline: Timeline) -> list[PartUse]:
    """The parts of the latest tick: those that are not read first, then the one nearest to its limit."""
    parts = timeline.last.parts if timeline.last is not None else ()
    found = [PartUse(each.name, tuple(_uses(each, timeline.parts.get(each.name))), each, timeline.parts.get(each.name))
             for each in parts]  # fmt: skip
    return sorted(found, key=lambda part: (not part.is_missing, -part.share))


def _uses(reading: PartReading, known: PartState | None) -> Iterator[Use]:
    """The used resources, the one nearest to its limit first, those without a limit last."""
    if not reading.is_new:
        return
    facts = known.host if known is not None else HostFacts()
    is_on_generator = known is not None and known.machine == "generator"  # the rows of the host show this machine
    host = () if is_on_generator else _of_host(reading.host, facts)
    found = (*_of_server(reading), *_of_target(reading.target, facts), *host)
    yield from sorted(found, key=lambda use: -1.0 if use.share is None else use.share, reverse=True)


def _of_target(target: TargetReading | None, facts: HostFacts) -> Iterator[Use]:
    if target is None:
        return
    cores = min((each for each in (target.cpus_allowed or facts.cpus, facts.cgroup_cpus) if each), default=None)
    unit = f"of {cores:g} core{'s' * (cores != 1)}" if cores else "cores"
    yield _limited("cpu", target.cpu_ratio, cores, numbers.three_digits, unit)
    yield _limited("fds", target.fds_fullest, target.fds_limit, numbers.count)
    if target.listen_queue is not None:
        yield _limited("accept queue", target.listen_queue, target.listen_backlog, numbers.count)
    if target.rss_bytes is not None:
        yield _limited("memory", target.rss_bytes, target.memory_limit_bytes, quantities.size)
    if target.throttled_ratio:
        yield Use("throttled", text.percent(target.throttled_ratio), "of the time", target.throttled_ratio)
    yield Use("", numbers.count(target.processes), f"process{'es' * (target.processes != 1)}")


def _of_host(host: HostReading | None, facts: HostFacts) -> Iterator[Use]:
    if host is None:
        return
    yield _limited("host cpu", host.cpu_ratio, facts.cpus, numbers.three_digits)
    if host.memory_used_bytes is not None:
        yield _limited("host mem", host.memory_used_bytes, facts.memory_bytes, quantities.size)
    if host.disk_busy_ratio is not None:
        yield Use("disk", text.percent(host.disk_busy_ratio), "busy", host.disk_busy_ratio)


def _of_server(reading: PartReading) -> Iterator[Use]:
    """The server's own figures that have a limit, or are a share."""
    server = reading.server
    if "connections" in server:
        yield _limited("connections", server["connections"], server.get("connections_limit"), numbers.count)
    if server.get("active"):
        share = server.get("lock_waits", 0.0) / server["active"]
        yield Use("lock waits", text.percent(share), "", share)


def _limited(name: str, used: float | None, limit: float | None, shown: Shown, unit: str | None = None) -> Use:
    number, _, own_unit = shown(used).partition(" ")
    words = unit if unit is not None else f"of {shown(limit)}" if limit else ""
    return Use(name, number, f"{own_unit} {words}".strip(), used / limit if used is not None and limit else None)


FULL_RATIO = 0.9
"""Share of a limit from which a resource is yellow."""


def part_rows(timeline: Timeline, cells: int, palette: Palette) -> Iterator[Row]:
    """One row for each part."""
    for part in part_uses(timeline):
        yield _row(part, cells, palette)


def _row(part: PartUse, cells: int, palette: Palette) -> Row:
    if not part.uses:
        details = (part.state,) if part.state else ()
        return Row(text.safe(part.name), "", "", "", details, palette.primary, warned=part.is_missing)
    first, *others = part.uses
    details = (*((part.state,) if part.state else ()), *((first.name,) if first.name else ()), *(use.in_words for use in others))
    bar = text.bar(min(1.0, first.share), cells) if first.share is not None else ""
    return Row(text.safe(part.name), bar, first.number, first.unit, details, palette.primary, part.share >= FULL_RATIO)

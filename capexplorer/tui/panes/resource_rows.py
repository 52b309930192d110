"""One row of the resources: label, spark line or bar, figure, details. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from rich.style import Style
from textual.strip import Strip

from ... import wording
from ...model.events import HostFacts, PartState
from ...model.readings import LATE_S, HostReading, PartReading, PortsReading, TargetReading
from ...model.timeline import Timeline
from ...wording import numbers, quantities
from ..display_options import Palette
from ..render import text
from ..render.text import Piece, styled

# -- resource row --------------------------------------------------------------------------------------------------------------


_LABEL_CELLS, _VALUE_CELLS = 12, 18
"""Widths in cells of the label with the spaces around it, and of number and unit."""


class Row(msgspec.Struct, frozen=True):
    """One resource."""

    label: str
    picture: str
    """A spark line or a bar."""
    number: str
    unit: str = ""
    details: tuple[str, ...] = ()
    color: str = ""
    warned: bool = False
    used_up: bool = False
    """Whether the resource is used up, which is more than a warning."""
    marked: int | None = None
    """Cell of the spark line at the inspection cursor."""


def row_lines(row: Row, palette: Palette, width: int, cells: int, *, more: int) -> list[Strip]:
    """One line, and at most `more` further lines with the details that do not fit. Details for which there is no space are left
    out. `cells`: width of the spark line or bar.
    """
    muted = styled(color=palette.muted)
    warning = palette.error if row.used_up else palette.warning
    alarm = styled(color=warning, bold=True)
    head: list[Piece] = [(f" {text.pad(row.label, _LABEL_CELLS - 2)} ", alarm if row.warned else muted)]
    if row.number:
        value = f"{text.pad(row.number, quantities.latency_cells(), right=True)} {row.unit}{' !' if row.warned else ''}"
        color = warning if row.warned else row.color
        head += _picture(text.pad(row.picture, cells) + " ", row.marked, styled(color=color))
        head.append((text.pad(value, max(_VALUE_CELLS, len(value))), alarm if row.warned else styled(color=palette.text)))
    lines = packed(row.details, width - text.cells(head) - 1, width - _LABEL_CELLS - 1, more)
    style = alarm if row.warned and not row.number else muted
    first = text.line([*head, (" " if row.number else "", muted), (lines[0], style)], width)
    return [first, *(text.line([(" " * _LABEL_CELLS, muted), (each, style)], width) for each in lines[1:])]


def _picture(picture: str, marked: int | None, style: Style) -> list[Piece]:
    if marked is None:
        return [(picture, style)]
    cell = (picture[marked], style + styled(reverse=True))
    return [(picture[:marked], style), cell, (picture[marked + 1 :], style)]


def cores(ratio: float | None, cpus: int | None) -> tuple[str, str]:
    """(number, unit) of a CPU use in cores: `1.42`, `of 2 cores`."""
    return numbers.three_digits(ratio), f"of {cpus} core{'s' * (cpus != 1)}" if cpus else "cores"


def number_and_unit(figure: str) -> tuple[str, str]:
    """(number, unit) of a figure such as `142 MiB`."""
    number, _, unit = figure.partition(" ")
    return number, unit


def lag(p99_ms: float | None) -> tuple[str, str]:
    """`4.21`, `ms p99`."""
    number, unit = number_and_unit(quantities.latency_figure(p99_ms))
    return number, f"{unit} p99".lstrip()


def packed(details: Sequence[str], first: int, others: int, more: int) -> list[str]:
    """Details joined by commas to a first line of at most `first` cells and at most `more` further lines of at most `others`
    cells. Details for which there is no space are left out.
    """
    lines = [""]
    for detail in details:
        cells = first if len(lines) == 1 else others
        joined = f"{lines[-1]}, {detail}" if lines[-1] else detail
        if len(joined) <= cells:
            lines[-1] = joined
        elif len(lines) <= more and len(detail) <= others:
            lines.append(detail)
    return lines


# -- part uses -----------------------------------------------------------------------------------------------------------------
# The resources of a watched part with their limits, the one nearest to its limit first. Pure.


Shown = Callable[[float | None], str]


class Use(msgspec.Struct, frozen=True):
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


class PartUse(msgspec.Struct, frozen=True):
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


# -- part rows -----------------------------------------------------------------------------------------------------------------
# The rows of watched parts in the resources pane: each shows the resource that is nearest to its limit.


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


# -- ports ---------------------------------------------------------------------------------------------------------------------
# Ephemeral ports: how many are used, and how long the others last. A warning appears before a connection fails for lack of a
# port; if no port is left, it names the state of the connections that hold them.
#
# `port_rows` draws the rows of the resources pane, `shortage` gives the warning in a few words for the status line.


WARNING_RATIO = 0.8
"""Used share of the ports from which a warning is shown."""
WARNING_S = 120.0
"""Time until the ports are used up, in seconds, below which a warning is shown."""
TREND_MOST_S = 600.0
"""Time until the ports are used up, in seconds, from which it is not shown: such slow growth comes from new connections of the
last step, and is no trend.
"""

HOLDERS = {
    "ephemeral_port_exhaustion": "",
    "ephemeral_port_exhaustion_time_wait": "TIME_WAIT",
    "ephemeral_port_exhaustion_established": "ESTABLISHED",
}
"""Causes of exhausted ports, and the state that holds them."""


class Shortage(msgspec.Struct, frozen=True):
    """`words`: `ports full in 42 s`, `ports 83% used`, `ephemeral ports exhausted (TIME_WAIT)`."""

    words: str
    exhausted: bool = False
    holder: str = ""
    """The TCP state of most used ports, if it is known."""


def shortage(timeline: Timeline) -> Shortage | None:
    """The warning; None while enough ports are free."""
    ports = timeline.last.ports if timeline.last is not None else None
    for mark in timeline.marks.values():
        if mark.id in HOLDERS and mark.state in ("open", "updated"):
            return Shortage(wording.title(mark), exhausted=True, holder=HOLDERS[mark.id])
    if ports is None:
        return None
    share = share_of(ports)
    if share is not None and share >= 1 and ports.destination is not None:  # several destinations can share a port
        return Shortage("all ephemeral ports used", exhausted=True)
    if ports.exhausted_in_s is not None and ports.exhausted_in_s < WARNING_S:
        return Shortage(f"ports full in {text.span(ports.exhausted_in_s)}")
    return Shortage(f"ports {text.percent(share)} used") if share is not None and share > WARNING_RATIO else None


def share_of(ports: PortsReading) -> float | None:
    """The used share of the ports' capacity; None if it was not measured."""
    return ports.used / ports.capacity if ports.used is not None and ports.capacity else None


def port_rows(timeline: Timeline, cells: int, palette: Palette) -> Iterator[Row]:
    """The rows of used ports: of the capacity, with the time until they are used up, and by TCP state."""
    ports = (timeline.last.ports if timeline.last is not None else None) or PortsReading()
    share, short = share_of(ports), shortage(timeline)
    exhausted = short is not None and short.exhausted
    details = [text.percent(share)]
    if short is not None and exhausted:
        details[:0] = ["exhausted", *([f"by {short.holder}"] if short.holder else [])]
    elif ports.exhausted_in_s is not None and ports.exhausted_in_s < TREND_MOST_S:
        details.insert(0, f"full in {text.span(ports.exhausted_in_s)}")
    if ports.burn_rate_per_s and not exhausted:
        details.append(f"{_signed(ports.burn_rate_per_s)}/s")
    yield Row(
        "ports",
        text.bar(share, cells),
        numbers.count(ports.used),
        f"of {numbers.count(ports.capacity)}",
        tuple(details),
        palette.secondary,
        short is not None,
        exhausted,
    )
    yield from _states(ports)


def _states(ports: PortsReading) -> Iterator[Row]:
    states: Mapping[str, int | None] = {"TIME_WAIT": ports.time_wait, "ESTABLISHED": ports.established, **ports.by_state}
    shown = sorted(((name, count) for name, count in states.items() if count is not None), key=lambda item: -item[1])
    parts = [f"{text.safe(name)} {numbers.count(count)}" for name, count in shown]
    if ports.destination:
        parts.append(f"to {text.safe(ports.destination)}")
    if parts:
        yield Row("", "", "", "", tuple(parts))


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{quantities.rate_cell(abs(value))}"

"""Ephemeral ports: how many are used, and how long the others last. A warning appears before a connection fails for lack of a
port; if no port is left, it names the state of the connections that hold them.

`port_rows` draws the rows of the resources pane, `shortage` gives the warning in a few words for the status line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ... import wording
from ...model.readings import PortsReading
from ...model.timeline import Timeline
from ...wording import numbers, quantities
from ..display_options import Palette
from ..render import text
from .resource_row import Row

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


@dataclass(frozen=True, slots=True)
class Shortage:
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

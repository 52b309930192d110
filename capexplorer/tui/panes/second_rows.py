"""The rows of the resources in one past second, from the timeline's columns. They have no details, which only the newest second
has.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.events import HostFacts
from ...model.timeline import Timeline
from ...wording import numbers, quantities
from ..display_options import Palette
from .resource_history import ResourceHistory
from .resource_row import Row, cores, lag, number_and_unit


def second_rows(timeline: Timeline, tick: int, facts: HostFacts, history: ResourceHistory, palette: Palette) -> Iterator[Row]:
    """The rows in the same order as those of the newest second; spark lines highlight the cell of this second."""
    columns, cell, cpus = timeline.columns, history.cell_at(tick), facts.cpus

    def value(name: str) -> float | None:
        found = columns[name][tick]
        return None if found != found else found

    def cpu(label: str, name: str, color: str, of: int | None) -> Row:
        return Row(label, history.spark(name, of), *cores(value(name), of), color=color, marked=cell)

    def amount(label: str, name: str, color: str, unit: str = "") -> Row:
        number, of = number_and_unit(quantities.size(value(name)))
        return Row(label, history.spark(name), number, f"{of}{unit}", color=color, marked=cell)

    def share(label: str, name: str, color: str, whole: int | None) -> Row:
        number = number_and_unit(quantities.size(value(name), largest=whole))[0]
        return Row(label, history.spark(name, whole), number, f"of {quantities.size(whole)}", color=color, marked=cell)

    yield cpu("target cpu", "target_cpu_ratio", palette.primary, cpus)
    yield amount("target mem", "target_rss_bytes", palette.primary)
    yield cpu("host cpu", "host_cpu_ratio", palette.secondary, cpus)
    yield share("host mem", "host_memory_bytes", palette.secondary, facts.memory_bytes)
    if value("others_cpu_ratio") is not None:
        yield cpu("others cpu", "others_cpu_ratio", palette.secondary, cpus)
    yield cpu("generator", "generator_cpu_ratio", palette.accent, 1)
    yield Row("loop lag", history.spark("loop_lag_p99_ms"), *lag(value("loop_lag_p99_ms")), color=palette.accent, marked=cell)
    used, capacity = value("ports_used"), value("ports_capacity")
    unit, spark = f"of {numbers.count(capacity)}", history.spark("ports_used", capacity)
    yield Row("ports", spark, numbers.count(used), unit, color=palette.secondary, marked=cell)
    yield amount("network", "received_bytes_per_s", palette.secondary, "/s in")

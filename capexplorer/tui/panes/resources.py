"""The resources: target, watched parts, host, other processes, generator, ports, network. Each has a row with its use, and its
recent past as a spark line.

The most important rows come first. A low pane leaves out the last rows, a narrow one the details.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.columns import total
from ...model.events import HostFacts, PartState, Sample
from ...model.readings import GeneratorReading, HostReading, TargetTcpReading, TcpReading, WorkersReading
from ...model.timeline import Timeline
from ...model.watched import KNOWN_SERVERS
from ...wording import numbers, quantities
from ...wording.numbers import counted
from ..display_options import DisplayOptions, Palette
from ..render import text
from ..render.text import styled
from ..render.timepage import page_of
from .pane import Pane, ScrollingPane
from .resource_rows import FULL_RATIO, PartUse, Row, cores, lag, number_and_unit, part_rows, part_uses, port_rows, row_lines

# -- resource history ----------------------------------------------------------------------------------------------------------


class ResourceHistory:
    """Columns binned to one value per cell, over the window or, in a younger session, over all of it. Bins have fixed times, so a
    spark line changes once per bin, not every second.
    """

    def __init__(self, timeline: Timeline, cursor: int, window_s: float | None, cells: int) -> None:
        self._columns, self._end, self._cells = timeline.columns, cursor + 1, cells
        times = timeline.columns["t_s"]
        self._now_s = times[cursor] if 0 <= cursor < len(times) else 0.0
        shown_s = self._now_s if window_s is None else min(window_s, self._now_s)
        self._bin_s = max(1.0, math.ceil(shown_s / cells))
        self._first_bin = math.floor(self._now_s / self._bin_s) - cells + 1
        self._start = timeline.index_at(self._first_bin * self._bin_s) + 1
        self._filled, self._starts = self._bins()

    def _bins(self) -> tuple[list[int], list[int]]:
        """(cells that have ticks, index of the first tick of each in the past)."""
        cells = np.floor(self._past("t_s") / self._bin_s).astype(np.int64) - self._first_bin
        cuts = np.searchsorted(cells, np.arange(self._cells + 1))
        filled = np.flatnonzero(np.diff(cuts))
        return filled.tolist(), cuts[filled].tolist()

    def _past(self, name: str) -> NDArray[np.float64]:
        return np.asarray(self._columns[name][max(self._start, 0) : self._end])

    def spark(self, name: str, top: float | None = None) -> str:
        """The greatest value of each bin, on a scale from 0 to `top`, or to the greatest value of all."""
        bins = [math.nan] * self._cells
        greatest = np.fmax.reduceat(self._past(name), self._starts).tolist() if self._starts else ()
        for cell, value in zip(self._filled, greatest, strict=True):
            bins[cell] = value
        known = [value for value in bins if not math.isnan(value)]
        return text.spark(bins, top if top else max(known, default=0.0))

    def cell_at(self, tick: int) -> int | None:
        """The cell of this tick; None if the spark line does not include it."""
        cell = math.floor(self._columns["t_s"][tick] / self._bin_s) - self._first_bin
        return cell if 0 <= cell < self._cells else None

    @property
    def cells(self) -> int:
        """Width of a spark line in cells."""
        return self._cells


BUSY_RATIO = 0.9
"""Used share of a core, or of all cores of the host, from which it counts as full, and its row is yellow."""

OTHERS_RATIO = 0.2
"""CPU of other processes in cores from which they may slow down the target."""


class ResourcesPane(Pane):
    """The rows of the newest second or, while there is an inspection cursor, of its second."""

    TITLE = "Resources"
    AT_CURSOR = True

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw the second at the cursor; the title says whether the figures are of the inspected second."""
        self.retitle(self.TITLE if options.inspected is None else f"{self.TITLE} at the cursor")
        super().show(timeline, cursor, options)

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """As many rows as fit completely."""
        if timeline.last is None:
            return [text.line([("  no measurement yet", styled(color=options.palette.muted))], size.width)]
        cells = spark_cells(size.width)
        shown = page_of(timeline, cursor, options)
        history = ResourceHistory(timeline, shown.stop - 1 if shown is not None else cursor, options.window_s, cells)
        rows = list(resource_rows(timeline, cursor, options.inspected, history, options.palette))
        lines: list[Strip] = []
        for index, row in enumerate(rows):
            spare = size.height - len(lines) - (len(rows) - index)
            lines += row_lines(row, options.palette, size.width, cells, more=max(0, spare))
        return lines[: size.height]


def spark_cells(width: int) -> int:
    """Width of the spark lines in cells: a sixth of the pane's width, 8 to 24; 7 at least where latencies need a cell more."""
    return min(24, max(13 - quantities.latency_cells(), width // 6))


def resource_rows(
    timeline: Timeline, cursor: int, inspected: int | None, history: ResourceHistory, palette: Palette
) -> Iterator[Row]:
    """The rows of the newest second or, with the inspection cursor, of its second. Figures come from the timeline's columns.
    Details, warnings, and the rows of parts, workers and TCP are those of the newest second, which alone has them.
    """
    sample, tick = (timeline.last, cursor) if inspected is None else (None, min(inspected, cursor))
    facts = timeline.header.host if timeline.header else HostFacts()
    cpus, memory = facts.cpus, facts.memory_bytes
    details = _details(sample, facts) if sample is not None else {}
    marked = None if inspected is None else history.cell_at(tick)

    def value(name: str) -> float | None:
        found = timeline.columns[name][tick]
        return None if found != found else found

    def row(label: str, name: str, figure: tuple[str, str], color: str, top: float | None = None) -> Row:
        words, warned = details.get(name, ((), False))
        return Row(label, history.spark(name, top), *figure, words, color, warned, marked=marked)

    def cpu(label: str, name: str, color: str, of: int | None) -> Row:
        return row(label, name, cores(value(name), of), color, of)

    yield cpu("target cpu", "target_cpu_ratio", palette.primary, cpus)
    size = number_and_unit(quantities.size(value("target_rss_bytes")))
    yield row("target mem", "target_rss_bytes", size, palette.primary)
    if sample is not None:
        yield from part_rows(timeline, history.cells, palette)
    yield cpu("host cpu", "host_cpu_ratio", palette.secondary, cpus)
    used = number_and_unit(quantities.size(value("host_memory_bytes"), largest=memory))[0]
    yield row("host mem", "host_memory_bytes", (used, f"of {quantities.size(memory)}"), palette.secondary, memory)
    if value("others_cpu_ratio") is not None:
        yield cpu("others cpu", "others_cpu_ratio", palette.secondary, cpus)
    yield cpu("generator", "generator_cpu_ratio", palette.accent, 1)
    yield row("loop lag", "loop_lag_p99_ms", lag(value("loop_lag_p99_ms")), palette.accent)
    if sample is not None:
        yield from port_rows(timeline, history.cells, palette)
    else:
        capacity = value("ports_capacity")
        ports = numbers.count(value("ports_used")), f"of {numbers.count(capacity)}"
        yield row("ports", "ports_used", ports, palette.secondary, capacity)
    number, unit = number_and_unit(quantities.size(value("received_bytes_per_s")))
    yield row("network", "received_bytes_per_s", (number, f"{unit}/s in"), palette.secondary)
    if sample is not None:
        yield from tcp_rows(sample, palette)
        if sample.workers is not None:
            yield from worker_rows(sample.workers, history.cells, palette)


# -- details -------------------------------------------------------------------------------------------------------------------
# What only the newest second has: the details of each row, and whether it is a warning, by the row's column.


Details = tuple[tuple[str, ...], bool]


def _details(sample: Sample, facts: HostFacts) -> dict[str, Details]:
    return {
        **_of_targets(sample),
        **_of_host(sample.host or HostReading(), facts),
        "others_cpu_ratio": _of_neighbours(sample),
        **_of_generator(sample.generator or GeneratorReading(), sample.workers),
    }


def _of_targets(sample: Sample) -> dict[str, Details]:
    """CPU and memory of the targets, with all their processes."""
    targets = sample.targets
    busiest = max((target.busiest_thread_ratio for target in targets if target.busiest_thread_ratio is not None), default=None)
    processes = total(target.processes for target in targets)
    waits = (each for each in targets if each.listen_queue is not None)
    of_cpu = (
        f"top thread {numbers.three_digits(busiest)}",
        *(f"accept queue {each.listen_queue} of {numbers.count(each.listen_backlog)}" for each in waits),
        f"{numbers.count(processes)} process{'es' * (processes != 1)}",
        f"{_sum(target.threads for target in targets)} threads",
    )
    fds = f"fds {_sum(target.fds for target in targets)} of {_sum(target.fds_limit for target in targets)}"
    written = total(target.written_bytes_per_s for target in targets)
    of_memory = (fds,) if written is None else (fds, f"writes {quantities.byte_rate(written)}")
    is_full = busiest is not None and busiest >= BUSY_RATIO
    return {"target_cpu_ratio": (of_cpu, is_full), "target_rss_bytes": (of_memory, False)}


def _of_host(host: HostReading, facts: HostFacts) -> dict[str, Details]:
    """CPU with load average and pressure, memory, and the network with the disk."""
    of_cpu = [f"load {numbers.three_digits(host.load_average_1m)}"]
    if host.steal_ratio:
        of_cpu.append(f"steal {numbers.three_digits(host.steal_ratio)}")
    if host.cpu_pressure_ratio is not None:
        of_cpu.append(f"cpu pressure {text.percent(host.cpu_pressure_ratio)}")
    is_full = host.cpu_ratio is not None and bool(facts.cpus) and host.cpu_ratio >= BUSY_RATIO * (facts.cpus or 0)
    used, whole = host.memory_used_bytes, facts.memory_bytes
    share = used / whole if used is not None and whole else None
    of_network = f"out {quantities.byte_rate(host.sent_bytes_per_s)}", f"disk {text.percent(host.disk_busy_ratio)} busy"
    return {
        "host_cpu_ratio": (tuple(of_cpu), is_full),
        "host_memory_bytes": ((text.percent(share),), False),
        "received_bytes_per_s": (of_network, False),
    }


WAITS_RATIO = 0.25
"""Ratio of the time that the target waited for CPU to the CPU time that it used, from which busy other processes are yellow."""


def _of_neighbours(sample: Sample) -> Details:
    """Other processes by name, and who waits for a core."""
    others = sample.neighbours
    if others is None or others.cpu_ratio is None:
        return (), False
    cpu = total(target.cpu_ratio for target in sample.targets)
    delay = total(target.run_delay_ratio for target in sample.targets)
    own = sample.generator.run_delay_ratio if sample.generator is not None else None
    memory = sample.host.memory_pressure_ratio if sample.host is not None else None
    details = [f"{text.safe(name)} {numbers.three_digits(ratio)}" for name, ratio in others.processes.items()]
    details.append(f"waits: target {numbers.three_digits(delay)}, generator {numbers.three_digits(own)}")
    if memory:
        details.append(f"memory pressure {text.percent(memory)}")
    target_waits = (
        delay is not None and cpu is not None and min(others.cpu_ratio, delay) >= max(WAITS_RATIO * cpu, OTHERS_RATIO / 2)
    )
    return tuple(details), others.cpu_ratio >= OTHERS_RATIO and target_waits


def _of_generator(generator: GeneratorReading, workers: WorkersReading | None) -> dict[str, Details]:
    """CPU and loop lag of the load thread; with several workers, of the busiest. Latencies may be too high by the lag."""
    of_workers = () if workers is None else (f"worker {text.safe(workers.fullest or '–')} is the busiest of {workers.count}",)
    of_cpu = (
        *of_workers,
        f"run delay {numbers.three_digits(generator.run_delay_ratio)}",
        f"screen {numbers.three_digits(generator.screen_cpu_ratio)}",
        f"recorder {numbers.three_digits(generator.recorder_cpu_ratio)}",
        f"fds {numbers.count(generator.fds)} of {numbers.count(generator.fds_limit)}",
        f"memory {quantities.size(generator.rss_bytes)}",
    )
    lags = (("p50", generator.loop_lag_p50_ms), ("max", generator.loop_lag_max_ms))
    of_lag = tuple(f"{name} {quantities.latency_figure(value_ms)}" for name, value_ms in lags)
    is_full = generator.cpu_ratio is not None and generator.cpu_ratio >= BUSY_RATIO
    return {"generator_cpu_ratio": (of_cpu, is_full), "loop_lag_p99_ms": (of_lag, False)}


def worker_rows(workers: WorkersReading, cells: int, palette: Palette) -> Iterator[Row]:
    """Rows of the workers: their number and their CPU together, then the load thread of each as a bar."""
    words = [f"{numbers.three_digits(workers.cpu_ratio)} cores together"]
    words += [f"{workers.late} late"] if workers.late else []
    words += [f"{workers.plain} plain Locust: latencies to two digits, causes from error texts"] if workers.plain else []
    yield Row("workers", "", str(workers.count), "", tuple(words), palette.accent, bool(workers.late))
    for each in workers.rows:
        busy = (each.cpu_ratio or 0.0) + (each.run_delay_ratio or 0.0)
        details = [
            counted(each.users),
            quantities.rate(each.requests, numbers.count),
            f"lag {quantities.latency_figure(each.loop_lag_p99_ms)}",
        ]
        details.append(f"fds {numbers.count(each.fds)} of {numbers.count(each.fds_limit)}")
        details += [f"ports {numbers.count(each.ports_used)}"] if each.ports_used is not None else []
        bar = text.bar(min(1.0, busy), cells)
        unit = "late" if each.is_late else "of 1 core"
        full = each.is_late or busy >= BUSY_RATIO
        yield Row(
            f" {text.safe(each.name)}", bar, numbers.three_digits(each.cpu_ratio), unit, tuple(details), palette.accent, full
        )


_HOST_TCP = {
    "listen_overflows": "listen overflows",
    "listen_drops": "listen drops",
    "syn_queue_full_drops": "SYN queue drops",
    "syncookies_sent": "SYN cookies",
    "attempt_fails": "failed connects",
    "resets_sent": "resets sent",
    "segments_retransmitted": "retransmits",
    "aborts_on_memory": "aborts (memory)",
    "time_wait_overflows": "TIME_WAIT overflows",
}
"""Names of the host's TCP counters on the screen."""

_CONNECT_ERRNOS = {errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL}
"""errno values of failures to connect, as opposed to failures on an open connection."""


def tcp_rows(sample: Sample, palette: Palette) -> Iterator[Row]:
    """A row of the service's TCP counters and one of the host's, with those that grew in this second; no row without such
    counters.

    Only the service's row is a warning: the host's counters include other processes of the network namespace.
    """
    tcp = sample.tcp or TcpReading()
    counters = {**_of_service(tcp.target or TargetTcpReading()), "users' failed connects": _failed_connects(sample)}
    own = _grown(counters)
    if waiting := (tcp.unsent_bytes or 0) + (tcp.queued_bytes or 0):
        own = (*own, f"{quantities.size(waiting)} wait to be sent")
    if own:
        yield Row("tcp", "", "", "", own, palette.warning, warned=True)
    of_host = _grown({words: tcp.grown(name) for name, words in _HOST_TCP.items()})
    if of_host:
        yield Row("host tcp", "", "", "", of_host, palette.secondary)


def _of_service(target: TargetTcpReading) -> dict[str, float | None]:
    return {
        "service's listen drops": target.listen_drops,
        "service's retransmits": target.segments_retransmitted,
    }


def _failed_connects(sample: Sample) -> int:
    return sum(each.count for each in (*sample.failures, *sample.retried) if each.signature.errno in _CONNECT_ERRNOS)


def _grown(counts: dict[str, float | None]) -> tuple[str, ...]:
    return tuple(f"{words} +{numbers.count(value)}" for words, value in counts.items() if value)


def _sum(values: Iterable[int | None]) -> str:
    return numbers.count(total(values))


# -- parts ---------------------------------------------------------------------------------------------------------------------
# Watched parts in full: their resources, their machines, and how they are read. The part nearest to a limit comes first.


NONE = "no part is watched: `--watch NAME=ssh HOST:port N`, or [[watch]] in a profile"

_SHOWN_ELSEWHERE = ("connections", "refused_readings")
"""Prefixes of figures that are not listed among the others: a row, or the part's state, shows them."""


class PartsPane(ScrollingPane):
    """A heading for each part, then a row for each resource."""

    TITLE = "Parts"

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """The lines that fit, from the scroll position on."""
        parts = part_uses(timeline)
        if not parts:
            style = styled(color=options.palette.muted)
            return [text.line([(f"  {each}", style)], size.width) for each in text.wrap(NONE, size.width - 2)]
        lines = [strip for part in parts for strip in _part(part, options.palette, size.width)]
        first, last = self.window(len(lines), size.height)
        return lines[first:last]


def _part(part: PartUse, palette: Palette, width: int) -> Iterator[Strip]:
    cells = spark_cells(width)
    heading = styled(color=palette.warning if part.is_missing else palette.primary, bold=True)
    words = f" {text.safe(part.name)}" + (f"  {part.state}" if part.state else "")
    yield text.line([(text.shorten_end(words, width), heading)], width)
    for use in part.uses:
        bar = text.bar(min(1.0, use.share), cells) if use.share is not None else ""
        full = use.share is not None and use.share >= FULL_RATIO
        row = Row("", bar, use.number, use.unit, (use.name,), palette.secondary, full)
        yield from row_lines(row, palette, width, cells, more=0)
    muted = styled(color=palette.muted)
    for line in _about(part):
        yield text.line([(text.shorten_end(f"   {line}", width), muted)], width)


def _about(part: PartUse) -> Iterator[str]:
    """Lines with other processes on the part's machine, with the server's other figures, and on the part itself."""
    reading, known = part.reading, part.known
    others = reading.neighbours.processes if reading.neighbours is not None else {}
    if others:
        yield "others: " + ", ".join(f"{text.safe(name)} {numbers.three_digits(ratio)}" for name, ratio in others.items())
    figures = {name: value for name, value in reading.server.items() if not name.startswith(_SHOWN_ELSEWHERE)}
    if figures:
        yield ", ".join(f"{text.safe(name)} {numbers.three_digits(value)}" for name, value in sorted(figures.items()))
    if known is not None and known.program in KNOWN_SERVERS and part.uses and not reading.server:
        yield wording.figures_of_server(known.program, KNOWN_SERVERS[known.program])
    if known is not None:
        yield ", ".join(_place_and_reader(known, reading.reader_cpu_ratio))


def _place_and_reader(known: PartState, reader_cpu_ratio: float | None) -> Iterator[str]:
    yield text.safe(known.place)
    if known.program:
        yield text.safe(known.program) + (f" {known.pid}" if known.pid is not None else "")
    if known.machine == "generator":
        yield "on the generator's machine"
    if known.clock_offset_s is not None and known.clock_error_s is not None:
        yield f"clock {known.clock_offset_s:+.3f} s ±{known.clock_error_s:.3f}"
    if known.reader is not None:
        cost = f", {text.percent(reader_cpu_ratio)} of a core" if reader_cpu_ratio is not None else ""
        yield f"read by {known.reader}{cost}"
    if known.denied:
        yield f"denied: {', '.join(known.denied)}"

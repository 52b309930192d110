"""The second at the inspection cursor in full: its level, the values that charts over time draw, its failures, and marks near it.

`inspected` is pure: (timeline, cursor, options, width) to lines of cells. `InspectArea` shows them below the panes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.strip import Strip

from ... import wording
from ...model.events import Mark, Note, Target
from ...model.figures import latency_of_kind
from ...model.intervals import Z95
from ...model.load import Rate, Users
from ...model.stages import TABLED
from ...model.timeline import Timeline
from ...wording import numbers, quantities
from ..display_options import DisplayOptions, Palette
from ..render import text
from ..render.text import Piece, styled
from ..render.timepage import page_of
from .journal import glyph_of, repeats
from .pane import StripsWidget
from .throughput import work_name

NARROW, MIDDLE = 100, 150
"""Widths in cells below which the values of a second need one more line: for sessions without and with offered rates."""

NEAR_S = 5.0
NEAR_RATIO = 0.01
"""Distance from the cursor within which marks are shown: the larger of 5 s and 1% of the page, about one column of a chart."""

BETWEEN = "  "


class InspectArea(StripsWidget):
    """The lines below the panes while there is a cursor."""

    DEFAULT_CSS = "InspectArea { height: 4; background: $panel; color: $foreground; padding: 0 1; display: none; }"

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw the inspected second, or hide if there is none."""
        self.display = options.inspected is not None
        width = max(self.app.size.width - 2, 1)  # self.size is not known before the first layout
        strips = inspected(timeline, cursor, options, width) if options.inspected is not None else []
        if strips and len(strips) != len(self._strips):
            self.styles.height = len(strips)
        if len(strips) == len(self._strips) == self.size.height:
            return self.replace(strips)
        self._strips = strips
        self.refresh()

    def drawn(self) -> list[Strip]:
        """The lines do not depend on the size of this widget."""
        return self._strips


def inspected(timeline: Timeline, cursor: int, options: DisplayOptions, width: int) -> list[Strip]:
    """A line with the time and its level, then values, failures and marks, as many as fit. The number of lines depends only on
    the width and on whether the session has levels of rates, so that panes keep their sizes while the cursor moves.
    """
    if options.inspected is None or not 0 <= cursor < len(timeline):
        return []
    tick = min(options.inspected, cursor)
    palette = options.palette
    head = _head(timeline, tick, options, width)
    events = [*_failures(timeline, tick, palette), *_events(timeline, tick, cursor, options)]
    cells = width if len(events) == 1 else (width - len(BETWEEN) - len("  +9")) // 2
    found = [*_values(timeline, tick, palette), *((text.shorten_end(words, cells), style) for words, style in events)]
    by_offered_rate = any(isinstance(level.load, Rate) for level in timeline.levels)
    most = 3 + (width < NARROW) + (by_offered_rate and width < MIDDLE) + (bool(timeline.stages) and width < MIDDLE)
    lines = _flowed(found, width, most)
    return [text.line(head, width), *(text.line(line, width) for line in lines), *[Strip.blank(width)] * (most - len(lines))]


# -- the first line


def _head(timeline: Timeline, tick: int, options: DisplayOptions, width: int) -> list[Piece]:
    """`INSPECT 12:34  level 4, 20 users, settled: goodput 61.2 ±1.1/s, p50 44 p95 210 p99 310 ms, 0.2% failed`."""
    palette = options.palette
    badge = styled(color=palette.background, bgcolor=palette.text, bold=True)
    bold, plain, muted = styled(color=palette.text, bold=True), styled(color=palette.text), styled(color=palette.muted)
    t_s = timeline.columns["t_s"][tick]
    pieces: list[Piece] = [(" INSPECT ", badge), (f" {wording.session_time(t_s)}", bold)]
    shown = page_of(timeline, len(timeline) - 1, options)
    if shown is not None and not shown.start_s <= t_s <= shown.end_s:
        pieces.append((" (not on this page)", muted))
    parts = list(_of_level(timeline, tick))
    while len(parts) > 1 and text.cells(pieces) + len(BETWEEN) + len(", ".join(parts)) > width:
        parts.pop()
    return [*pieces, (BETWEEN, plain), (", ".join(parts), plain)]


def _of_level(timeline: Timeline, tick: int) -> Iterator[str]:
    """The level's load and figures, the most important first."""
    level = timeline.level_at(tick)
    if level is None:
        yield "no level"
        return
    load = quantities.requested(level.load)
    phase = "settled" if timeline.columns["settled"][tick] else "not settled"
    figures = level.figures
    yield f"level {level.opened.index}"
    yield f"{load} ({phase})"
    if figures.goodput_rps is not None:
        error_rps = None if figures.goodput_se_rps is None else Z95 * figures.goodput_se_rps
        yield f"{quantities.goodput_name(figures)} {quantities.rate_and_error(figures.goodput_rps, error_rps)}"
        latency = figures.latency_ms
        called = "" if isinstance(level.load, Users) else "service time "
        yield called + quantities.latency_list((("p50", latency.p50), ("p95", latency.p95), ("p99", latency.p99)))
        if figures.stages:
            yield quantities.latency_list((f"{stage} p95", latency_of_kind(figures, stage).p95) for stage in TABLED)
            yield f"{quantities.rate_cell(figures.tokens_per_s)} tokens/s"
        yield f"{text.percent(figures.failure_ratio)} failed"
        yield f"settled {text.span(figures.settled_seconds)}"


# -- the second


def _values(timeline: Timeline, tick: int, palette: Palette) -> Iterator[Piece]:
    """One piece for each group of values."""
    plain = styled(color=palette.text)
    columns = timeline.columns

    def shown(name: str) -> str:
        return quantities.rate_cell(columns[name][tick])

    def rate(name: str) -> str:
        return quantities.rate_figure(columns[name][tick])

    def latencies(prefix: str, *names: str) -> str:
        return quantities.latency_list([(name, columns[f"{prefix}{name}_ms"][tick]) for name in names])

    def has(name: str) -> bool:
        value = columns[name][tick]
        return value == value

    users, wanted = columns["users"][tick], columns["wanted"][tick]
    load = f"users {users:.0f}" + (f" of {wanted:.0f}" if users != wanted else "")
    yield f"req/s {shown('throughput_rps')} {work_name(timeline)} {shown('goodput_rps')} failed {shown('failures_rps')}", plain
    yield load, plain
    if has("offered_per_s"):
        yield f"offered {rate('offered_per_s')} in flight {shown('in_flight')} dropped {rate('dropped_per_s')}", plain
        yield f"from plan {latencies('from_plan_', 'p50', 'p95', 'p99')}", plain
    yield f"in {quantities.byte_rate(columns['received_bytes_per_s'][tick])}", plain
    yield f"ports {numbers.count(columns['ports_used'][tick])}", plain
    called = "service time " if has("offered_per_s") else ""  # beside the time from plan
    yield called + latencies("", "p50", "p95", "p99", "max"), plain
    for stage in timeline.stages:
        yield f"{stage} {latencies(f'{stage}_', 'p50', 'p95', 'p99')}", plain
    if has("tokens_per_s"):
        yield f"tokens {rate('tokens_per_s')}", plain
    yield f"loop lag {quantities.latency_figure(columns['loop_lag_p99_ms'][tick])}", plain
    yield f"cpu target {shown('target_cpu_ratio')}, {quantities.size(columns['target_rss_bytes'][tick])}", plain
    whole = timeline.header.host.memory_bytes if timeline.header else None
    yield f"host {shown('host_cpu_ratio')}, {quantities.size(columns['host_memory_bytes'][tick], largest=whole)}", plain
    if has("others_cpu_ratio"):
        yield f"others {shown('others_cpu_ratio')}", plain
    yield f"generator {shown('generator_cpu_ratio')}", plain


def _failures(timeline: Timeline, tick: int, palette: Palette) -> Iterator[Piece]:
    """`5 × GET /cpu: HTTP 503`, the most frequent first."""
    counts = [(failure.at(tick), failure) for failure in timeline.failures.values()]
    for count, failure in sorted((each for each in counts if each[0]), key=lambda each: -each[0]):
        sentence = f"{count} × {failure.method} {failure.name}: {wording.failure(failure.signature)}"
        yield text.safe(sentence), styled(color=palette.error, bold=True)


def _events(timeline: Timeline, tick: int, cursor: int, options: DisplayOptions) -> Iterator[Piece]:
    """Marks, notes and the target's states near the cursor, the nearest first."""
    t_s = timeline.columns["t_s"][tick]
    shown = page_of(timeline, cursor, options)
    near_s = max(NEAR_S, NEAR_RATIO * (shown.end_s - shown.start_s) if shown is not None else 0.0)
    found = (each for each in timeline.journal if abs(each.t_s - t_s) <= near_s and isinstance(each, Mark | Note | Target))
    near = [each for each in found if not (isinstance(each, Mark) and repeats(each))]
    for entry in sorted(near, key=lambda entry: abs(entry.t_s - t_s)):
        glyph, style = glyph_of(entry, options.palette)
        sentence = wording.short_sentence(entry) if isinstance(entry, Mark) else wording.journal(entry)
        yield f"{glyph} {wording.session_time(entry.t_s)} {text.safe(sentence)}", style


def _flowed(pieces: Sequence[Piece], width: int, most: int) -> list[list[Piece]]:
    """Pieces side by side on at most `most` lines; those that do not fit are counted."""
    lines: list[list[Piece]] = [[]]
    for index, (words, style) in enumerate(pieces):
        left = len(pieces) - index - 1
        more = len(BETWEEN) + len(f"+{left}") if left and len(lines) == most else 0
        if lines[-1] and text.cells([*lines[-1], (BETWEEN + words, style)]) + more > width:
            if len(lines) == most:
                lines[-1].append((f"{BETWEEN}+{left + 1}", style))
                return lines
            lines.append([])
        if lines[-1]:
            lines[-1].append((BETWEEN, style))
        lines[-1].append((words, style))
    return lines

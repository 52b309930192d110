"""Failures by cause: location, count, times, an example, advice; on request the raw errors.

Draws marks alone (causes, leaks, bottlenecks): the log says which failures belong to which cause. What is open stands first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.events import Mark
from ...model.findings import Cause
from ...model.grades import SEVERITIES
from ...model.timeline import FailureCount, Timeline
from ..look import Look, Palette
from ..render import text
from .scrolling import ScrollingPane

ABOVE_LINES = 2
"""Of the verdict, in the status lines."""

QUIET = ("not_saturated",)
"""The text when nothing is wrong."""

CAUSES, RAW = "Failures by cause   d raw errors   R requests", "Raw errors by endpoint   d causes   R requests"


class FailuresPane(ScrollingPane):
    """`raw`: errors as they came, instead of their causes."""

    TITLE = CAUSES

    raw = False

    def toggle_raw(self, raw: bool | None = None) -> None:
        """Raw errors, or causes; the other of the two unless given."""
        self.raw = not self.raw if raw is None else raw
        self.border_title = RAW if self.raw else CAUSES
        self._rest_at(0)

    def draw(self, timeline: Timeline, cursor: int, look: Look, size: Size) -> list[Strip]:
        """Lines from the verdict down to where scrolling has reached."""
        draw = raw_lines if self.raw else cause_lines
        lines = draw(timeline, look.palette, size.width)
        first, last = self.window(len(lines), size.height)
        return lines[first:last]


# -- how much there is


@dataclass(frozen=True, slots=True)
class Tally:
    """For a tab and the status line."""

    open: int = 0
    """Causes and leaks that are open now."""
    over: int = 0
    raw: int = 0
    """Kinds of failures, by endpoint and signature."""
    grave: bool = False
    """Whether an open one has severity error or above."""

    @property
    def words(self) -> str:
        """The count next to the pane's name: open causes, else ended ones, else failures without a cause; empty without
        failures.
        """
        count = self.open or self.over or self.raw
        return str(count) if count else ""


def tally(timeline: Timeline) -> Tally:
    """Of all epochs. Bottlenecks are no failures."""
    marks = [mark for mark in wording.standing(timeline).values() if mark.kind in ("cause", "leak")]
    standing = [mark for mark in marks if mark.state != "closed"]
    grave = any(mark.severity in ("critical", "error") for mark in standing)
    return Tally(len(standing), len(marks) - len(standing), len(timeline.failures), grave)


# -- causes


def cause_lines(timeline: Timeline, palette: Palette, width: int) -> list[Strip]:
    """The verdict if the status lines do not show all of it, then open causes, then closed ones; both by place."""
    marks, judged = blames(timeline), wording.judgement(timeline)
    style = Style(color=color_of(judged.severity, palette) if judged.marked else palette.text, bold=True)
    verdict = list(_wrapped(judged.sentence, " ", style, width))
    lines = verdict if not judged.marked or len(verdict) > ABOVE_LINES else []
    if not marks:
        lines += _wrapped(_nothing(timeline), " ", Style(color=palette.muted), width)
    for title, group in _grouped(marks):
        if lines:
            lines.append(Strip.blank(width))
        lines.append(text.line([(f" {title}", Style(color=palette.muted, bold=True))], width))
        for mark in group:
            lines += _cause(mark, timeline, palette, width)
    return lines


def _grouped(marks: Sequence[Mark]) -> Iterator[tuple[str, list[Mark]]]:
    """Titles with open causes, in the order in which locations are ruled out, then with ended causes."""
    for over in (False, True):
        for place, title in wording.GROUPS.items():
            group = [mark for mark in marks if (mark.state == "closed") is over and wording.where(mark.id) == place]
            if group:
                yield f"{title}, ended" if over else title, group


def blames(timeline: Timeline) -> list[Mark]:
    """The marks to show: the most severe first, then the latest."""
    found = [mark for mark in wording.standing(timeline).values() if mark.kind in wording.BLAMES and mark.id not in QUIET]
    return sorted(found, key=lambda mark: (SEVERITIES.index(mark.severity), -mark.t_s))


def _nothing(timeline: Timeline) -> str:
    kinds = len(timeline.failures)
    if not kinds:
        return "Nothing failed, and no cause was marked."
    if kinds == 1:
        return "No cause was marked. There is one kind of failure: press d to show it."
    return f"No cause was marked. There are {kinds} kinds of failures: press d to show them."


def _cause(mark: Mark, timeline: Timeline, palette: Palette, width: int) -> Iterator[Strip]:
    """Sign, name and count; then when, where, an example, readings; then what to do."""
    over = mark.state == "closed"
    muted, plain = Style(color=palette.muted), Style(color=palette.muted if over else palette.text)
    style = muted if over else Style(color=color_of(mark.severity, palette), bold=True)
    finding, advice = mark.finding, wording.advice(mark.finding, timeline.header)
    counted = wording.counted(finding)
    sign = "·" if over else "✗" if mark.severity in ("critical", "error") else "!" if mark.severity == "warning" else "◇"
    name = text.wrap(text.safe(wording.title(mark)), max(width - len(counted) - 6, 10))
    yield text.line([(f" {sign} {text.pad(name[0], max(width - len(counted) - 4, 0))}", style), (counted, plain)], width)
    yield from (text.line([(f"   {more}", style)], width) for more in name[1:])
    example = wording.example(finding)
    described = [
        " · ".join(filter(None, (wording.epoch_name(timeline, mark.epoch), _when(mark), wording.endpoints(finding)))),
        f"e.g. {example}" if example else "",
        "; ".join(part for part in (wording.readings(finding), wording.doubts(finding)) if part),
    ]
    for line in filter(None, described):
        yield from _wrapped(line, "     ", muted, width)
    if advice:
        yield from _wrapped(advice, "   → ", plain, width)


def _when(mark: Mark) -> str:
    """`since 01:23 at 82 users`, `01:23 to 02:10 at 82 users`, `no more by 02:10`, with the confidence if there is one."""
    cause = mark.finding if isinstance(mark.finding, Cause) else None
    began_s = mark.t_s if cause is None or cause.began_s is None else cause.began_s
    last_s = cause.last_s if cause is not None else None
    at = wording.at_load(mark)
    sure = f", {mark.confidence} confidence" if mark.confidence else ""
    if mark.state != "closed":
        return f"since {wording.session_time(began_s)}{at}{sure}"
    if last_s is None:  # a mark over levels does not state when the last level that shows it ended
        return f"no more by {wording.session_time(mark.t_s)}{at}{sure}"
    return f"{wording.session_time(began_s)} to {wording.session_time(last_s)}{at}{sure}"


def _wrapped(words: str, head: str, style: Style, width: int) -> Iterator[Strip]:
    """Under its own text."""
    for index, part in enumerate(text.wrap(text.safe(words), width - len(head) - 1)):
        yield text.line([(head if index == 0 else " " * len(head), style), (part, style)], width)


def color_of(severity: str, palette: Palette) -> str:
    """Red for critical causes and errors, yellow for warnings."""
    return {"critical": palette.error, "error": palette.error, "warning": palette.warning}.get(severity, palette.text)


# -- raw errors


def raw_lines(timeline: Timeline, palette: Palette, width: int) -> list[Strip]:
    """Count, endpoint, error and when, wrapped: data, shown as text. The most frequent first."""
    failures = sorted(timeline.failures.values(), key=lambda failure: -failure.count)
    if not failures:
        return [text.line([("  no request failed", Style(color=palette.muted))], width)]
    examples = timeline.examples
    return [strip for failure in failures for strip in _raw(failure, examples.get(failure.signature), palette, width)]


def _raw(failure: FailureCount, example: str | None, palette: Palette, width: int) -> Iterator[Strip]:
    words = text.safe(f"{failure.method} {failure.name}: {wording.failure(failure.signature)}")
    count = text.pad(f"{text.count(failure.count)} ×", 9, right=True) + " "
    for index, part in enumerate(text.wrap(words, width - len(count))):
        head = (count if index == 0 else " " * len(count), Style(color=palette.error, bold=True))
        yield text.line([head, (part, Style(color=palette.text))], width)
    if example:
        yield from _wrapped(f"e.g. {example}", " " * len(count), Style(color=palette.muted), width)
    seen = f"{wording.session_time(failure.first_s)} to {wording.session_time(failure.last_s)}"
    yield text.line([(" " * len(count) + seen, Style(color=palette.muted))], width)

"""Failures by cause, as blocks of lines: location, count, times, an example, readings, advice. Open causes come first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.style import Style
from textual.strip import Strip

from ... import wording
from ...model.events import Mark
from ...model.findings import Cause
from ...model.timeline import Timeline
from ...model.verdicts import SEVERITIES
from ..display_options import Palette
from ..render import text
from .blocks import Block

VERDICT_LINES = 2
"""The most lines of the verdict in the status area; a longer one is repeated here in full."""

UNLISTED = ("not_saturated",)
"""Ids of marks that are not listed, since they state no problem."""

_SIGNS = {"critical": "✗", "error": "✗", "warning": "!"}


def blocks(timeline: Timeline, palette: Palette, width: int) -> list[Block]:
    """The verdict, if the status area does not show all of it, then open causes, then closed ones, both by location."""
    marks, judged = listed_marks(timeline), wording.judgement(timeline)
    style = Style(color=color_of(judged.severity, palette) if judged.marked else palette.text, bold=True)
    verdict = list(_wrapped(judged.sentence, " ", style, width))
    top = verdict if not judged.marked or len(verdict) > VERDICT_LINES else []
    if not marks:
        top += _wrapped(_without_marks(timeline), " ", Style(color=palette.muted), width)
    found = [Block(tuple(top))] if top else []
    for title, group in _grouped(marks):
        heading = text.line([(f" {title}", Style(color=palette.muted, bold=True))], width)
        found.append(Block((Strip.blank(width), heading) if found else (heading,)))
        found += [_cause(mark, timeline, palette, width) for mark in group]
    return found


def _grouped(marks: Sequence[Mark]) -> Iterator[tuple[str, list[Mark]]]:
    """(title, marks) of each location: first locations with open causes, then those with ended causes, both in the order in which
    a search for the cause should rule them out.
    """
    for is_ended in (False, True):
        for place, title in wording.GROUPS.items():
            group = [mark for mark in marks if (mark.state == "closed") is is_ended and wording.where(mark.id) == place]
            if group:
                yield f"{title}, ended" if is_ended else title, group


def listed_marks(timeline: Timeline) -> list[Mark]:
    """The marks to show: the most severe first, then the latest."""
    found = [mark for mark in wording.current_marks(timeline).values() if mark.kind in wording.BLAMES and mark.id not in UNLISTED]
    return sorted(found, key=lambda mark: (SEVERITIES.index(mark.severity), -mark.t_s))


def _without_marks(timeline: Timeline) -> str:
    kinds = len(timeline.failures)
    if not kinds:
        return "Nothing failed, and no cause was marked."
    if kinds == 1:
        return "No cause was marked. There is one kind of failure: press d to show it."
    return f"No cause was marked. There are {kinds} kinds of failures: press d to show them."


def _cause(mark: Mark, timeline: Timeline, palette: Palette, width: int) -> Block:
    """The lines of one cause: sign, name and count; then time, location, an example and readings; then advice."""
    is_ended = mark.state == "closed"
    muted, plain = Style(color=palette.muted), Style(color=palette.muted if is_ended else palette.text)
    finding, advice = mark.finding, wording.advice(mark.finding, timeline.header)
    named = _title_lines(mark, muted if is_ended else Style(color=color_of(mark.severity, palette), bold=True), plain, width)
    example = wording.example(finding)
    described = [
        " · ".join(filter(None, (wording.epoch_name(timeline, mark.epoch), _when(mark), wording.endpoints(finding)))),
        f"e.g. {example}" if example else "",
        "; ".join(part for part in (wording.readings(finding), wording.doubts(finding)) if part),
    ]
    below = [line for words in filter(None, described) for line in _wrapped(words, "     ", muted, width)]
    if advice:
        below += _wrapped(advice, "   → ", plain, width)
    return Block((*named, *below), mark.key, len(named))


def _title_lines(mark: Mark, style: Style, plain: Style, width: int) -> list[Strip]:
    """Sign and name, with the count at the right edge."""
    sign = "·" if mark.state == "closed" else _SIGNS.get(mark.severity, "◇")
    counted = wording.counted(mark.finding)
    name = text.wrap(text.safe(wording.title(mark)), max(width - len(counted) - 6, 10))
    first = [(f" {sign} {text.pad(name[0], max(width - len(counted) - 4, 0))}", style), (counted, plain)]
    return [text.line(first, width), *(text.line([(f"   {more}", style)], width) for more in name[1:])]


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
    """The lines of `words` after `head`; further lines are indented to the words' beginning."""
    for index, part in enumerate(text.wrap(text.safe(words), width - len(head) - 1)):
        yield text.line([(head if index == 0 else " " * len(head), style), (part, style)], width)


def color_of(severity: str, palette: Palette) -> str:
    """The colour of a severity: red for critical ones and errors, yellow for warnings."""
    return {"critical": palette.error, "error": palette.error, "warning": palette.warning}.get(severity, palette.text)

"""The journal: marks, notes, the target's states and commands, the newest last."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, islice

import msgspec
from msgspec.structs import replace
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.events import Command, Log, Mark, Note, Target
from ...model.findings import MarkKind
from ...model.timeline import Timeline
from ..display_options import DisplayOptions, Palette
from ..render import text
from ..render.text import styled
from .pane import ScrollingPane

Entry = Mark | Note | Target | Command

ENTRIES = 500
"""Number of latest entries that are shown, since all of them are laid out once a second; the log on disk contains all."""

BURST_S = 1.5
"""Seconds within which steps by keys are combined into one entry, that of the last step."""

MOVING: tuple[MarkKind, ...] = ("knee", "at_or_below", "bend", "latency_knee")
"""Kinds of marks that change as more levels are measured."""

_TIME_CELLS, _GLYPH_CELLS = 9, 2
"""Width of `23:59:59` and a space."""
_INDENT_CELLS = _TIME_CELLS + _GLYPH_CELLS


class JournalPane(ScrollingPane):
    """A list of entries, each with time, sign and text."""

    TITLE = "Journal"
    AT_END = True

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """The newest entries at the end, older ones by scrolling."""
        found = entries(timeline)
        if not found:
            return [text.line([("  nothing yet", styled(color=options.palette.muted))], size.width)]
        begins = [0, *accumulate(len(wrapped(each.words, size.width)) for each in found)]
        first, last = self.window(begins[-1], size.height)
        top = bisect_right(begins, first) - 1
        seen = found[top : bisect_left(begins, last)]
        lines = [strip for each in seen for strip in entry_lines(each, options.palette, size.width)]
        return lines[first - begins[top] : last - begins[top]]


class JournalEntry(msgspec.Struct, frozen=True):
    """An entry of the timeline with its text."""

    entry: Entry
    words: str
    revises: bool = False
    """Whether this is a later revision of a mark whose first revision is also in the journal."""

    @property
    def key(self) -> str | None:
        """The key of the mark; None if the entry is not a mark."""
        return self.entry.key if isinstance(self.entry, Mark) else None


def entries(timeline: Timeline) -> list[JournalEntry]:
    """The latest entries of the journal, without those that repeat others:

    - commands that wrote a note, which has an entry itself;
    - all but the last of several steps in quick succession;
    - revisions of a knee between the first and the latest;
    - what was retracted, or replaced by its opposite (a recovery after all), except for the entry that says so;
    - marks that a later finding superseded.
    """
    kept: list[JournalEntry] = []
    latest: dict[str, Mark] = {}
    superseded = _superseded(timeline)
    for entry in timeline.journal[-ENTRIES:]:
        if isinstance(entry, Command) and entry.name == "note":
            continue
        if isinstance(entry, Mark) and entry.key in superseded:
            continue
        if isinstance(entry, Mark):
            kept = _with_mark(kept, latest.get(entry.key), entry)
            latest[entry.key] = entry
            continue
        if kept and _continues(kept[-1].entry, entry):
            kept.pop()
        kept.append(JournalEntry(entry, wording.journal(entry)))
    return [_of_epoch(each, timeline) for each in kept]


def _of_epoch(each: JournalEntry, timeline: Timeline) -> JournalEntry:
    name = wording.epoch_name(timeline, each.entry.epoch) if isinstance(each.entry, Mark) else ""
    return replace(each, words=f"{name}: {each.words}") if name else each


def _superseded(timeline: Timeline) -> set[str]:
    """The keys of marks that are not retracted, but superseded by a later finding."""
    current = {key for key, mark in timeline.marks.items() if mark.state != "retracted"}
    return current - wording.current_marks(timeline).keys()


def _with_mark(kept: list[JournalEntry], before: Mark | None, mark: Mark) -> list[JournalEntry]:
    """`kept` with this revision of a mark; `before` is its previous revision. A change of kind and a return each add an entry. A
    retraction, or another id (`recovered` after `not_recovered`), replaces the entries of the mark: they would contradict it. A
    further change of a mark whose kind is in MOVING replaces the entry of the change before.
    """
    if before is not None and (mark.state == "retracted" or (before.kind == mark.kind and before.id != mark.id)):
        return [*(each for each in kept if each.key != mark.key), JournalEntry(mark, wording.journal_mark(mark))]
    if before is None or before.kind != mark.kind or "retracted" in (before.state, mark.state):
        return [*kept, JournalEntry(mark, wording.journal_mark(mark))]
    if mark.kind not in MOVING:
        return kept if repeats(mark) else [*kept, JournalEntry(mark, wording.journal_mark(mark))]
    rest = [each for each in kept if not (each.revises and each.key == mark.key)]
    first = next((each.entry for each in reversed(rest) if isinstance(each.entry, Mark) and each.key == mark.key), None)
    words = wording.revised(mark)
    return rest if first is not None and wording.revised(first) == words else [*rest, JournalEntry(mark, words, revises=True)]


def repeats(mark: Mark) -> bool:
    """Whether this revision only has newer evidence for a finding whose time and sentence stay those of its first revision."""
    return mark.state == "updated" and mark.kind not in MOVING


def _continues(before: Entry, entry: Entry) -> bool:
    """Whether both are steps by keys in quick succession."""
    if not (isinstance(before, Command) and isinstance(entry, Command)):
        return False
    return before.name == entry.name and entry.name in ("users", "step") and entry.t_s - before.t_s < BURST_S


def entry_lines(each: JournalEntry, palette: Palette, width: int) -> list[Strip]:
    """The lines of one entry, wrapped with an indent."""
    entry = each.entry
    glyph, style = glyph_of(entry, palette)
    words = wrapped(each.words, width)
    time = text.pad(wording.session_time(entry.t_s), _TIME_CELLS - 1, right=True) + " "
    body = styled(color=palette.text) if isinstance(entry, Note) else style
    first = text.line([(time, styled(color=palette.muted)), (f"{glyph} ", style), (words[0], body)], width)
    return [first, *(text.line([(" " * _INDENT_CELLS, body), (more, body)], width) for more in words[1:])]


@lru_cache(2 * ENTRIES)
def wrapped(words: str, width: int) -> Sequence[str]:
    """The words of an entry in a pane of this width, line by line. Cached: each drawing counts the lines of all entries."""
    return text.wrap(text.safe(words), width - _INDENT_CELLS)


def glyph_of(entry: Entry, palette: Palette) -> tuple[str, Style]:
    """A sign that shows the kind without colour, and its style."""
    match entry:
        case Note():
            return "✎", styled(color=palette.primary)
        case Command():
            return "›", styled(color=palette.muted)
        case Target():
            bad = entry.state in ("died", "failed")
            colors = {"ready": palette.success, "died": palette.error, "failed": palette.error}
            return "✗" if bad else "■", styled(color=colors.get(entry.state, palette.muted), bold=bad)
        case Mark():
            colors = {"critical": palette.error, "error": palette.error, "warning": palette.warning}
            is_gone = entry.state == "retracted"
            color = palette.muted if is_gone else colors.get(entry.severity, palette.text)
            return "◆" if entry.severity != "info" and not is_gone else "◇", styled(color=color, strike=is_gone)


# -- log -----------------------------------------------------------------------------------------------------------------------


_TIME_CELLS, _SOURCE_CELLS = 9, 12


class LogPane(ScrollingPane):
    """A list of lines with time, source and text, the newest last."""

    TITLE = "Log"
    AT_END = True

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """The lines at the scroll position; only these and newer ones are laid out."""
        if not timeline.log:
            words = "  no output yet (locust, user code, target, capexplorer)"
            wrapped = text.wrap(words, size.width)[: size.height]
            return [text.line([(part, styled(color=options.palette.muted))], size.width) for part in wrapped]
        wanted = min(self.scrolled, len(timeline.log)) + 2 * size.height
        tail = reversed(list(islice(reversed(timeline.log), wanted)))  # every entry has at least one line
        lines = [strip for entry in tail for strip in log_lines(entry, options.palette, size.width)]
        first, last = self.window(len(lines), size.height)
        return lines[first:last]


def log_lines(entry: Log, palette: Palette, width: int) -> list[Strip]:
    """The lines of one entry, wrapped with an indent."""
    muted, style = styled(color=palette.muted), level_style(entry, palette)
    repeated = f" ×{entry.repeated}" if entry.repeated > 1 else ""
    indent = _TIME_CELLS + _SOURCE_CELLS
    wrapped = text.wrap(text.safe(entry.text.rstrip("\r\n")) + repeated, width - indent)
    head = text.pad(wording.session_time(entry.t_s), _TIME_CELLS - 1, right=True) + " " + text.pad(entry.source, _SOURCE_CELLS)
    first = text.line([(head, muted), (wrapped[0], style)], width)
    return [first, *(text.line([(" " * indent, style), (more, style)], width) for more in wrapped[1:])]


def level_style(entry: Log, palette: Palette) -> Style:
    """The style of a level; errors are bold too."""
    match entry.level:
        case "critical" | "error":
            return styled(color=palette.error, bold=True)
        case "warning":
            return styled(color=palette.warning)
        case "debug":
            return styled(color=palette.muted)
        case "info":
            return styled(color=palette.text)

"""The table of saved sessions: columns, sorting and filtering. Pure; `picker` shows it and performs the actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from ... import wording
from ...model.figures import LevelFigures, latency_of_kind
from ...model.intervals import Z95
from ...model.level import Level
from ...model.sources import SessionEntry
from ...model.stages import TABLED
from ...report.compare import Comparison
from ...wording.numbers import MISSING, count, three_digits
from ...wording.quantities import LATENCY_NAMES, latency_cell, latency_title, rate_cell, size
from ..keybar import LIKE_LESS
from ..render.text import pad, percent, safe, shorten_end

# -- profiles ------------------------------------------------------------------------------------------------------------------


NAME_CELLS, TITLE_CELLS, TARGET_CELLS = 20, 24, 10
"""Least widths of the columns in cells; on a wide screen titles and targets are wider."""


class ProfileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A profile that can be run."""

    name: str
    path: str = ""
    """Its file."""
    title: str = ""
    target: str = ""
    """The target's name, or the address of a service that runs already."""
    sample: bool = False
    """Whether it comes with capexplorer."""
    problem: str | None = None
    """Why it cannot be run, in one line."""


def profile_line(profile: ProfileEntry, width: int) -> str:
    """Name, title and target in `width` cells, shortened if needed; for a profile that cannot be run, its name and the reason."""
    name = f"  {pad(safe(profile.name), NAME_CELLS)} "
    if profile.problem:
        return name + shorten_end(f"! cannot run: {safe(profile.problem)}", max(width - len(name), TITLE_CELLS))
    target = max(width // 6 - 3, TARGET_CELLS)
    title = max(width - len(name) - target - 1, TITLE_CELLS)
    return f"{name}{pad(shorten_end(safe(profile.title), title), title)} {pad(safe(profile.target), target)}".rstrip()


def profile_detail(profile: ProfileEntry) -> tuple[list[str], str]:
    """([title, name, target], path of its file or the reason why it cannot be run), in full."""
    against = f"target {profile.target}" if profile.target else ""
    named = [each for each in (profile.title or profile.name, f"profile {profile.name}", against) if each]
    return named, f"cannot be run: {profile.problem}" if profile.problem else profile.path


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A saved session with its title and the digest of its log."""

    entry: SessionEntry
    title: str | None = None
    best_goodput_rps: float | None = None
    marks: int | None = None
    verdict: str | None = None
    """The verdict in one sentence; None: not known yet."""
    knee_users: float | None = None
    """None: no knee, or it is not known yet (`verdict` is None then)."""
    recording: bool = False
    """Whether a run is probably writing it now."""
    of_own_profile: bool = False
    """Whether its profile has the name of one of the working folder."""


class SavedSessions(Protocol):
    """The saved sessions and the operations on them. The picker shows a raised CapexplorerError in one line."""

    @property
    def where(self) -> str:
        """The folders in which they are looked up."""

    @property
    def formats(self) -> Mapping[str, str]:
        """The formats of `export`, each with a description."""

    def rows(self) -> Sequence[SessionRow]:
        """All sessions, newest first; verdict, best goodput and marks only if they are cached."""

    def search(self, stopped: Callable[[], bool]) -> bool:
        """Find the verdicts that are not cached, until `stopped`. Returns whether there were any, which `rows` then has.

        Blocks: call it in a thread.
        """

    def levels(self, entry: SessionEntry) -> Sequence[Level]:
        """The session's table of levels."""

    def rename(self, entry: SessionEntry, title: str) -> None:
        """Set the session's title; an empty one removes it."""

    def delete(self, entry: SessionEntry) -> None:
        """Delete the session permanently."""

    def compare(self, entries: Sequence[SessionEntry]) -> Comparison:
        """Compare with the first session; a single session is compared by its epochs."""

    def export(self, entry: SessionEntry, form: str) -> str:
        """Export a report and return its path. Blocks for seconds: call it in a thread."""


Key = float | str | None


class Column(msgspec.Struct, frozen=True):
    """One column. Widths are minimum ones; further cells of a wide screen go mostly to the title."""

    name: str
    width: int
    key: Callable[[SessionRow], Key]
    """The value to sort by; None comes last in both orders."""
    cell: Callable[[SessionRow], str]
    right: bool = False
    first_descending: bool = False


def began(entry: SessionEntry) -> str:
    """The time at which the session began: `2026-01-02 12:00`, in UTC, as the column's name says."""
    return safe(wording.wall_time(entry.started_at))[:16]


def state(row: SessionRow) -> str:
    """`rec` while it is recorded, `cut` for an incomplete session, else empty."""
    return "rec" if row.recording else "" if row.entry.complete else "cut"


def knee(row: SessionRow) -> str:
    """Users at the knee; `?` while it is not known yet."""
    if row.knee_users is not None:
        return f"{row.knee_users:.0f}"
    return MISSING if row.verdict is not None else "?"


def title(row: SessionRow) -> str:
    """The session's title, else its label, else its id."""
    return row.title or row.entry.label or row.entry.id


def _optional(value: float | None, shown: Callable[[float], str]) -> str:
    return MISSING if value is None else shown(value)


COLUMNS = (
    Column(
        "UTC",
        11,
        lambda row: wording.wall_time(row.entry.started_at) or None,
        lambda row: began(row.entry),
        first_descending=True,
    ),
    Column("title", 19, lambda row: title(row).casefold(), lambda row: title(row)),
    Column("profile", 10, lambda row: (row.entry.profile or "").casefold() or None, lambda row: row.entry.profile or MISSING),
    Column(
        "time", 7, lambda row: row.entry.duration_s, lambda row: _optional(row.entry.duration_s, wording.session_time), True, True
    ),
    Column("knee", 7, lambda row: row.knee_users, lambda row: knee(row), True, True),
    Column("best/s", 9, lambda row: row.best_goodput_rps, lambda row: rate_cell(row.best_goodput_rps), True, True),
    Column("end", 6, lambda row: state(row) or None, state),
)
"""The columns from left to right; the keys 1 to 7 sort by them."""

_SORTED = {True: "↓", False: "↑"}
_PREFIX = 3
"""Cells before the columns, for the mark."""
_YEAR = len("2026-")
"""Cells of the year, which wide screens show in the column "UTC"."""


def detail(row: SessionRow) -> tuple[list[str], str]:
    """(facts in order of importance, the verdict or why the session cannot be opened), in full: columns may be too narrow."""
    entry = row.entry
    if entry.problem is not None:
        return [entry.id], f"cannot be opened: {entry.problem}"
    counts = [_counted(entry.levels, "level"), _counted(row.marks, "mark"), size(entry.size_bytes)]
    where = f"{entry.profile or MISSING} on {entry.target or MISSING}"
    named = (title(row), entry.label if row.title else None, entry.id, where, *counts)
    return list(dict.fromkeys(each for each in named if each)), row.verdict or (
        "the session is being recorded" if row.recording else "the verdict is being looked up"
    )


def _counted(found: int | None, what: str) -> str:
    return "" if found is None else f"{found:,} {what}{'s' * (found != 1)}"


def matching(rows: Iterable[SessionRow], wanted: str) -> list[SessionRow]:
    """The rows whose columns, label or id contain `wanted`, ignoring case."""
    wanted = wanted.casefold()
    if not wanted:
        return list(rows)
    return [row for row in rows if wanted in _searchable_text(row).casefold()]


def _searchable_text(row: SessionRow) -> str:
    entry = row.entry
    known = (row.title, entry.label, entry.id, entry.profile, entry.target, began(entry), state(row), entry.problem)
    return "\n".join(each for each in known if each)


def ordered(rows: Iterable[SessionRow], column: int, *, descending: bool) -> list[SessionRow]:
    """Sort by a column of COLUMNS, those of own profiles first; equal rows keep their order."""
    key = COLUMNS[column].key
    keyed = [(key(row), row) for row in rows]
    known: list[tuple[Any, SessionRow]] = [(found, row) for found, row in keyed if found is not None]
    known.sort(key=lambda each: each[0], reverse=descending)
    by_column = [row for _, row in known] + [row for found, row in keyed if found is None]
    return sorted(by_column, key=lambda row: not row.of_own_profile)


def heading(column: int, descending: bool, width: int) -> Text:
    """The columns' names, each after its key; the one that the table is sorted by has an arrow."""
    text = Text(" " * _PREFIX, no_wrap=True)
    for index, (each, cells) in enumerate(_widths(width)):
        name = f"{index + 1} {each.name}{_SORTED[descending] if index == column else ''}"
        text.append(pad(name, cells, right=each.right) + " ", "bold" if index == column else "")
    return text


def session_line(row: SessionRow, letter: str, width: int) -> Text:
    """One session in `width` cells. `letter`: the letter of its mark; empty: it is not marked."""
    text = Text(f" {letter or ' '} ", no_wrap=True)
    if row.entry.problem is not None:
        text.append(pad(f"{began(row.entry)[-11:] or safe(row.entry.id)} ! {safe(row.entry.problem)}", max(width - _PREFIX, 10)))
        return text
    for each, cells in _widths(width):
        shown = shorten_end(safe(each.cell(row)), cells) if each.name == "title" else safe(each.cell(row))
        text.append(pad(shown[-cells:] if each.name == "UTC" else shown, cells, right=each.right) + " ")
    return text


def _widths(width: int) -> list[tuple[Column, int]]:
    """The width of each column. Cells beyond the minimum go to the year first, then a quarter to the profile, the rest to the
    title.
    """
    left = max(width - _PREFIX - sum(column.width + 1 for column in COLUMNS), 0)
    year = _YEAR if left >= _YEAR else 0
    quarter = min((left - year) // 4, 12)
    extra = {"UTC": year, "title": left - year - quarter, "profile": quarter}
    return [(column, column.width + extra.get(column.name, 0)) for column in COLUMNS]


# -- session levels ------------------------------------------------------------------------------------------------------------


class SessionLevels(ModalScreen[None]):
    """Shows the table. `title` must have passed through `safe`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,left,i", "dismiss(None)", show=False), *LIKE_LESS]

    def __init__(self, title: str, levels: Sequence[Level]) -> None:
        super().__init__()
        self._title, self._levels = title, levels

    def compose(self) -> ComposeResult:
        """The table."""
        with VerticalScroll(classes="page") as page:
            page.border_title = Text(self._title)
            page.border_subtitle = Text("Esc: close")
            yield Static(levels_text(self._levels))


def _columns(*, has_streams: bool) -> list[tuple[str, int]]:
    """With streams the p95 of stages and tokens a second are in place of other percentiles and of the target's CPU."""
    percentiles = [(latency_title(name), 6) for name in (("p95",) if has_streams else ("p50", "p95", "p99"))]
    latencies = [*percentiles, *((stage, 6) for stage in TABLED if has_streams)]
    use = ("tok/s", 6) if has_streams else ("cpu", 5)
    return [("level", 5), ("users", 6), ("goodput/s", 9), ("±", 6), *latencies, ("failed", 6), use, ("settled", 7)]


def _latencies(found: LevelFigures, *, has_streams: bool) -> tuple[float | None, ...]:
    whole = found.latency_ms
    return (
        (whole.p95, *(latency_of_kind(found, stage).p95 for stage in TABLED))
        if has_streams
        else (whole.p50, whole.p95, whole.p99)
    )


def levels_text(levels: Sequence[Level]) -> Text:
    """The table with one line of 72 cells per level."""
    if not levels:
        return Text("no level in this session", "italic")
    text, has_streams = Text(no_wrap=True), any(level.figures.stages for level in levels)
    titles = _columns(has_streams=has_streams)
    text.append(" ".join(pad(title, cells, right=True) for title, cells in titles) + "\n", "bold")
    for level in levels:
        found = level.figures
        figures = (
            str(level.opened.index),
            count(level.users),
            rate_cell(found.goodput_rps),
            three_digits(None if found.goodput_se_rps is None else Z95 * found.goodput_se_rps),
            *map(latency_cell, _latencies(found, has_streams=has_streams)),
            percent(found.failure_ratio),
            rate_cell(found.tokens_per_s) if has_streams else three_digits(found.target_cpu_ratio),
            f"{found.settled_seconds:.0f} s" if found.settled else MISSING,
        )
        columns = zip(figures, titles, strict=True)
        text.append(" ".join(pad(each, cells, right=True) for each, (_, cells) in columns) + "\n")
    if has_streams:
        text.append(f"\np95 of {', '.join(f'{LATENCY_NAMES[stage]} ({stage})' for stage in TABLED)}")
    return text

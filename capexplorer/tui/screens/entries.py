"""The picker's list: profiles, then sessions, filtered and sorted, sessions with their comparison marks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from .profiles import ProfileEntry, profile_detail, profile_line
from .sessions import COLUMNS, SessionRow, detail, heading, matching, ordered, session_line

LETTERS = "ABCDEFGH"
"""Letters of the marked sessions, as in a comparison. Their number is the most sessions that can be marked."""

PART = 200
"""Number of sessions that are added to the list at a time. A line takes 0.2 ms to make, and a folder may have thousands of
sessions.
"""

NEAR = 60
"""Distance of the highlight from the end of the list at which sessions are added, in entries: more than the lines of a screen."""

OWN_MOST = 8
"""Profiles of the folder that are listed at first: with the saved sessions below them in a terminal of 24 lines."""

OTHERS = "profiles"
"""Id of the entry that shows or hides the other profiles."""

HEADING_LINES = 2
"""Lines above the first session: the list's title, and its columns."""


class Entries(OptionList):
    """The list. After a change (`filter_text`, `cells`, `replace_sessions`, `sort_by`, `mark`) call `fill`, which shows it."""

    def __init__(self, profiles: Sequence[ProfileEntry], default: str) -> None:
        """`default`: name of the profile that is always listed."""
        super().__init__(id="entries", markup=False)
        own = [each for each in profiles if not each.sample]
        first = own[:OWN_MOST]
        self._first = [*first, *(each for each in profiles if each.name == default and each not in first)]
        self._others = [each for each in profiles if each not in self._first]
        self.shows_others = False
        """Whether profiles are listed beyond those of the folder: the samples, and more of the folder than OWN_MOST."""
        self.filter_text = ""
        """Only entries that contain this text are shown."""
        self.cells = 80
        """Width of a line."""
        self._profiles = profiles
        self._rows: dict[str, SessionRow] = {}
        """The sessions by option id, newest first."""
        self._marked: list[str] = []
        self._column, self._descending = 0, True
        self._left: list[SessionRow] = []
        """Sessions at the end of the list that are not added yet."""

    @property
    def highlighted_id(self) -> str:
        """The id of the highlighted entry; empty if there is none."""
        option = self.highlighted_option
        return (option.id or "") if option is not None else ""

    @property
    def row(self) -> SessionRow | None:
        """The highlighted session; None if there is none."""
        return self._rows.get(self.highlighted_id)

    def entry(self, name: str | None) -> ProfileEntry | SessionRow | None:
        """The entry with this id; None if there is none."""
        profile = next((each for each in self._profiles if name == f"profile {each.name}"), None)
        return profile or self._rows.get(name or "")

    def detail(self) -> tuple[list[str], str]:
        """(facts, result) of the highlighted entry."""
        found = self.entry(self.highlighted_id)
        if self.highlighted_id == OTHERS:
            return [self._others_line()], "Profiles that come with capexplorer, each with a service to explore."
        if found is None:
            return [], ""
        return profile_detail(found) if isinstance(found, ProfileEntry) else detail(found)

    def next_list(self) -> None:
        """Move the highlight to the first entry of the other list: profiles or saved sessions."""
        other = "profile" if self.row is not None else "session "
        first = next((index for index, option in enumerate(self.options) if (option.id or "").startswith(other)), None)
        if first is not None:
            self.highlighted = first
            self.scroll_to(y=first - HEADING_LINES, animate=False)

    def replace_sessions(self, rows: Sequence[SessionRow]) -> None:
        """Replace the sessions; marks of deleted ones are dropped."""
        self._rows = {_name(row): row for row in rows}
        self._marked = [each for each in self._marked if each in self._rows]

    def sort_by(self, column: int) -> None:
        """Sort by a column of COLUMNS; if it is sorted by that already, reverse the order."""
        same = column == self._column
        self._column, self._descending = column, not self._descending if same else COLUMNS[column].first_descending

    def mark(self) -> bool:
        """Mark the highlighted session or remove its mark; False if the maximum is marked already."""
        if self.highlighted_id in self._marked:
            self._marked.remove(self.highlighted_id)
        elif len(self._marked) == len(LETTERS):
            return False
        else:
            self._marked.append(self.highlighted_id)
        return True

    def compared(self) -> list[SessionRow]:
        """The marked sessions in the order of their marks; if there are fewer than two, also the highlighted one."""
        names = self._marked if len(self._marked) > 1 else list(dict.fromkeys([*self._marked, self.highlighted_id]))
        return [self._rows[name] for name in names if name in self._rows]

    def fill(self, highlight: str | None = None) -> None:
        """Show the matching entries in order, with the highlight at the same entry or next to it."""
        before, here = self.highlighted, highlight or self.highlighted_id or None
        self.clear_options()
        self.add_options(self._matching())
        while here in self._rows and self._left and all(option.id != here for option in self.options[-PART:]):
            self._add_part()
        usable = [index for index, option in enumerate(self.options) if not option.disabled]
        at = next((index for index in usable if self.options[index].id == here), None)
        if at is None and usable:
            at = min(usable, key=lambda index: abs(index - (before or 0)))
        self.highlighted = at

    def _matching(self) -> list[Option]:
        rows = ordered(matching(self._rows.values(), self.filter_text), self._column, descending=self._descending)
        none = "no profiles found: `capexplorer init` writes one into this folder"
        return [
            _heading("Profiles"),
            *(self._profile_options() or [_remark(self.filter_text, none)]),
            _heading(""),
            _heading("Saved sessions"),
            *([Option(heading(self._column, self._descending, self.cells), disabled=True)] if rows else []),
            *self._next_part(rows),
            *([] if rows else [_remark(self.filter_text, "none yet: each run saves one, even if it is interrupted")]),
        ]

    def _profile_options(self) -> list[Option]:
        """The profiles with the text of the filter; without one those listed first, and the entry for the others."""
        if self.filter_text:
            shown = [each for each in self._profiles if self.filter_text.casefold() in _searchable_text(each)]
            return [self._profile(each) for each in shown]
        options = [self._profile(each) for each in self._first]
        if self._others:
            options.append(Option(Text(f"  {self._others_line()}", no_wrap=True), id=OTHERS))
        return [*options, *(self._profile(each) for each in (self._others if self.shows_others else ()))]

    def _profile(self, profile: ProfileEntry) -> Option:
        return Option(Text(profile_line(profile, self.cells), no_wrap=True), id=f"profile {profile.name}")

    def _others_line(self) -> str:
        samples = sum(each.sample for each in self._others)
        of_folder = len(self._others) - samples
        more = "more " if any(each.sample for each in self._first) else ""
        counts = [f"{of_folder} more of this folder"] * bool(of_folder) + [
            f"{samples} {more}sample{'s' * (samples != 1)}"
        ] * bool(samples)
        return f"{'▾' if self.shows_others else '▸'} {' and '.join(counts)}"

    def _next_part(self, rows: list[SessionRow]) -> list[Option]:
        """The first PART of `rows` as options; the others are left for later."""
        self._left = rows[PART:]
        return [self._session(row) for row in rows[:PART]]

    def _add_part(self) -> None:
        self.add_options(self._next_part(self._left))

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Add the next sessions before the highlight comes to the end."""
        super().watch_highlighted(highlighted)
        if highlighted is not None and self._left and highlighted >= self.option_count - NEAR:
            self._add_part()

    def action_last(self) -> None:
        """Go to the last of all sessions."""
        self.add_options([self._session(row) for row in self._left])
        self._left = []
        super().action_last()

    def _session(self, row: SessionRow) -> Option:
        name = _name(row)
        letter = LETTERS[self._marked.index(name)] if name in self._marked else ""
        return Option(session_line(row, letter, self.cells), id=name)


def _searchable_text(profile: ProfileEntry) -> str:
    named, found = profile_detail(profile)
    return "\n".join((*named, found)).casefold()


def _name(row: SessionRow) -> str:
    return f"session {row.entry.path}"


def _heading(title: str) -> Option:
    return Option(Text(title, "bold"), disabled=True)


def _remark(wanted: str, none: str) -> Option:
    return Option(Text("  nothing matches" if wanted else f"  {none}", "italic"), disabled=True)

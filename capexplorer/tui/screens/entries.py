"""The picker's list: profiles, then sessions, filtered and sorted, sessions with their comparison marks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from .profiles import ProfileEntry, profile_detail, profile_line
from .sessions import COLUMNS, SessionRow, detail, heading, matching, ordered, session_line

LETTERS = "ABCDEFGH"
"""Letters of marked sessions, as in a comparison; their number is the maximum."""


HEADING_LINES = 2
"""Above the first session: what the list is, and its columns."""


class Entries(OptionList):
    """Set `wanted` or `cells`, `keep` rows, `sort_by` or mark; then `fill`."""

    def __init__(self, profiles: Sequence[ProfileEntry]) -> None:
        super().__init__(id="entries", markup=False)
        self.wanted = ""
        """Text that entries must contain."""
        self.cells = 80
        self._profiles = profiles
        self._rows: dict[str, SessionRow] = {}
        """By the option's id, newest first."""
        self._marked: list[str] = []
        self._column, self._descending = 0, True

    @property
    def here(self) -> str:
        """The id of the entry that is highlighted; empty where none is."""
        option = self.highlighted_option
        return (option.id or "") if option is not None else ""

    @property
    def row(self) -> SessionRow | None:
        """The session that is highlighted."""
        return self._rows.get(self.here)

    def entry(self, name: str | None) -> ProfileEntry | SessionRow | None:
        """What has this id."""
        profile = next((each for each in self._profiles if name == f"profile {each.name}"), None)
        return profile or self._rows.get(name or "")

    def detail(self) -> tuple[list[str], str]:
        """(what it is, what was found) of the entry that is highlighted."""
        found = self.entry(self.here)
        if found is None:
            return [], ""
        return profile_detail(found) if isinstance(found, ProfileEntry) else detail(found)

    def next_list(self) -> None:
        """Move the highlight to the first entry of the other list: profiles or saved sessions."""
        other = "profile " if self.row is not None else "session "
        first = next((index for index, option in enumerate(self.options) if (option.id or "").startswith(other)), None)
        if first is not None:
            self.highlighted = first
            self.scroll_to(y=first - HEADING_LINES, animate=False)

    def keep(self, rows: Sequence[SessionRow]) -> None:
        """Replace the sessions; marks of deleted ones are dropped."""
        self._rows = {_name(row): row for row in rows}
        self._marked = [each for each in self._marked if each in self._rows]

    def sort_by(self, column: int) -> None:
        """By a column of COLUMNS; once more: the other way."""
        same = column == self._column
        self._column, self._descending = column, not self._descending if same else COLUMNS[column].first_descending

    def mark(self) -> bool:
        """Mark the highlighted session or remove its mark; False if the maximum is marked already."""
        if self.here in self._marked:
            self._marked.remove(self.here)
        elif len(self._marked) == len(LETTERS):
            return False
        else:
            self._marked.append(self.here)
        return True

    def compared(self) -> list[SessionRow]:
        """Those that are marked, in that order; where fewer than two are, with the one here."""
        names = self._marked if len(self._marked) > 1 else list(dict.fromkeys([*self._marked, self.here]))
        return [self._rows[name] for name in names if name in self._rows]

    def fill(self, highlight: str | None = None) -> None:
        """Show the matching entries in order, with the highlight at the same entry or next to it."""
        before, here = self.highlighted, highlight or self.here or None
        self.clear_options()
        self.add_options(self._matching())
        usable = [index for index, option in enumerate(self.options) if not option.disabled]
        at = next((index for index in usable if self.options[index].id == here), None)
        if at is None and usable:
            at = min(usable, key=lambda index: abs(index - (before or 0)))
        self.highlighted = at

    def _matching(self) -> list[Option]:
        profiles = [each for each in self._profiles if self.wanted.casefold() in _searched(each)]
        rows = ordered(matching(self._rows.values(), self.wanted), self._column, descending=self._descending)
        return [
            _heading("Profiles"),
            *(Option(Text(profile_line(each, self.cells)), id=f"profile {each.name}") for each in profiles),
            *(
                []
                if profiles
                else [_remark(self.wanted, "no profiles found: put a *.toml file into this folder or into profiles/")]
            ),
            _heading(""),
            _heading("Saved sessions"),
            *([Option(heading(self._column, self._descending, self.cells), disabled=True)] if rows else []),
            *(self._session(row) for row in rows),
            *([] if rows else [_remark(self.wanted, "none yet: each run saves one, even if it is interrupted")]),
        ]

    def _session(self, row: SessionRow) -> Option:
        name = _name(row)
        letter = LETTERS[self._marked.index(name)] if name in self._marked else ""
        return Option(session_line(row, letter, self.cells), id=name)


def _searched(profile: ProfileEntry) -> str:
    named, found = profile_detail(profile)
    return "\n".join((*named, found)).casefold()


def _name(row: SessionRow) -> str:
    return f"session {row.entry.path}"


def _heading(title: str) -> Option:
    return Option(Text(title, "bold"), disabled=True)


def _remark(wanted: str, none: str) -> Option:
    return Option(Text("  nothing matches" if wanted else f"  {none}", "italic"), disabled=True)

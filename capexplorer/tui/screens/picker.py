"""The screen of `capexplorer` without a command: profiles to run, saved sessions to open, compare, export and delete.

It receives both lists and opens no files: operations on sessions are performed by `SavedSessions`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key, Resize
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from ...errors import CapexplorerError
from ...wording.quantities import size
from ..base_app import SignalledApp
from ..dialogs import Ask, Choose, Confirm
from ..keybar import KeyLine, Performs, bindings, key_bar, performs
from ..keys import ScreenName
from ..preferences import Preferences
from ..render.text import safe, shorten, wrap
from .compare import CompareScreen
from .help import Help
from .sessions import (
    COLUMNS,
    ProfileEntry,
    SavedSessions,
    SessionLevels,
    SessionRow,
    began,
    detail,
    heading,
    matching,
    ordered,
    profile_detail,
    profile_line,
    session_line,
    title,
)

# -- entry detail --------------------------------------------------------------------------------------------------------------
# The lines below the picker's list: the highlighted entry in full, or a message.


LINES = 3
"""One line with facts on the entry, and two with its result."""


class EntryDetail(Static):
    """Shows an entry or a message, in at most LINES lines of `width` cells."""

    def show_entry(self, facts: Sequence[str], result: str, width: int) -> None:
        """Show the facts on one line, and below them the result, shortened if it is too long."""
        lines = [_fitted(facts, width), *wrap(safe(result), width)]
        if len(lines) > LINES:
            lines[LINES - 1 :] = [shorten(" ".join(lines[LINES - 1 :]), width)]
        self.update(Text("\n").join(Text(line, "" if index else "bold") for index, line in enumerate(lines)))

    def show_message(self, message: str, width: int) -> None:
        """Show a message, cut if it is too long."""
        self.update(Text("\n".join(wrap(safe(message), width)[:LINES])))


def _fitted(facts: Sequence[str], width: int) -> str:
    """The first fact, and as many others as fit after it."""
    line = shorten(safe("".join(facts[:1])), width)
    for fact in map(safe, facts[1:]):
        if cell_len(line) + 2 + cell_len(fact) > width:
            break
        line += f"  {fact}"
    return line


# -- entries -------------------------------------------------------------------------------------------------------------------
# The picker's list: profiles, then sessions, filtered and sorted, sessions with their comparison marks.


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

    def __init__(self, profiles: Sequence[ProfileEntry], default: str, where: str) -> None:
        """`default`: name of the profile that is always listed. `where`: the folders of the sessions."""
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
        self._profiles, self._where = profiles, where
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
            self._sessions_heading(),
            *([Option(heading(self._column, self._descending, self.cells), disabled=True)] if rows else []),
            *self._next_part(rows),
            *([] if rows else [_remark(self.filter_text, "none yet: each run saves one; `capexplorer replay sample` shows one")]),
        ]

    def _sessions_heading(self) -> Option:
        """With the folders in which they are looked up, as far as there is room."""
        of_folder = any(row.of_own_profile for row in self._rows.values())
        text = Text("Saved sessions, this folder's first" if of_folder else "Saved sessions", "bold", no_wrap=True)
        return Option(text.append(shorten(f"  {safe(self._where)}", self.cells - text.cell_len), "not bold"), disabled=True)

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


OF_SESSIONS = ("mark", "export", "levels", "rename", "delete", "sort")
"""What is done to sessions alone: while a profile is highlighted, the bar does not show their keys."""


class Picker(Screen[None]):
    """The list of profiles and sessions, and the actions on the highlighted entry."""

    AUTO_FOCUS = "#entries"
    NAME: ClassVar[ScreenName] = "picker"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("picker")]

    def __init__(
        self,
        profiles: Sequence[ProfileEntry],
        saved_sessions: SavedSessions,
        default: str,
        preferences: Preferences | None = None,
    ) -> None:
        super().__init__()
        self._preferences = preferences or Preferences()
        self._saved_sessions, self._default = saved_sessions, default
        self._entries = Entries(profiles, default, saved_sessions.where)
        self._detail = EntryDetail(id="detail")
        self._performs: Performs = {}
        self._detailed = ""
        """Id of the entry that the detail shows."""

    def compose(self) -> ComposeResult:
        """Title, filter, list, detail, keys."""
        self._performs = performs((self.NAME,), self._own_performs())
        yield Static(Text("capexplorer   explore the capacity of a service"), id="title")
        yield Input(placeholder="filter", id="filter", compact=True)
        yield self._entries
        yield self._detail
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        """Load the lists, with the default profile highlighted."""
        self.query_one("#filter").display = False
        self._load()
        self._entries.fill(f"profile {self._default}")
        self.run_worker(self._search, thread=True)

    def _search(self) -> None:
        """Find verdicts that are not cached in a thread of its own, so that the list is shown at once.

        The program does not end before its threads do: leaving the screen cancels the worker, and that stops the search.
        """
        worker = get_current_worker()
        with contextlib.suppress(CapexplorerError):  # an error of the folder was shown when the list was loaded
            if self._saved_sessions.search(lambda: worker.is_cancelled) and not worker.is_cancelled:
                self.app.call_from_thread(self._show_found)

    def _show_found(self) -> None:
        self._load()
        self._entries.fill()
        self._show_detail()

    def on_resize(self, event: Resize) -> None:
        """Fit the lines to the screen's width."""
        cells = event.size.width - 1  # the scrollbar's
        if cells != self._entries.cells:
            self._entries.cells = cells
            self._entries.fill()
        self._show_detail()

    def _load(self) -> None:
        """Reload the sessions."""
        try:
            rows = self._saved_sessions.rows()
        except CapexplorerError as error:
            rows = ()
            self._show_message(str(error))
        self._entries.replace_sessions(rows)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        self._entries.filter_text = event.value
        self._entries.fill()

    def on_input_submitted(self) -> None:
        """Enter moves to the list."""
        self._entries.focus()

    def on_option_list_option_highlighted(self) -> None:
        """Show the details of the highlighted entry, unless it is the same entry in a reloaded list."""
        if self._entries.highlighted_id != self._detailed:
            self._detailed = self._entries.highlighted_id
            self._show_detail()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Run a profile or replay a session, or show the other profiles. If it cannot be opened, show why."""
        if event.option.id == OTHERS:
            self._entries.shows_others = not self._entries.shows_others
            self._entries.fill()
            return self._show_detail()
        found = self._entries.entry(event.option.id)
        picked = found.entry if isinstance(found, SessionRow) else found
        if picked is not None and picked.problem is not None:
            self._show_message(picked.problem)
        elif picked is not None:
            self.app.exit(picked)

    def _show_detail(self) -> None:
        """Show the highlighted entry in full, and its keys."""
        self._detail.show_entry(*self._entries.detail(), self._detail_cells)
        row = self._entries.row
        opens = "runs" if row is None else "attaches" if row.recording else "replays"
        if self._entries.highlighted_id == OTHERS:
            opens = "hides" if self._entries.shows_others else "shows"
        words = {"open": opens, "other": "sessions" if row is None else "profiles"}
        left_out = () if row is not None else OF_SESSIONS if self._entries.compared() else (*OF_SESSIONS, "compare")
        shown = [key for key in self._preferences.keys if key.name not in left_out]
        self.query_one(KeyLine).show_keys(key_bar(self.NAME, self.size.width - 1, shown, **words))

    def _show_message(self, message: str) -> None:
        """Show a message in place of the detail, until another entry is highlighted."""
        self._detail.show_message(message, self._detail_cells)

    @property
    def _detail_cells(self) -> int:
        return max(self.size.width - 2, 20)

    # -- keys

    def on_key(self, event: Key) -> None:
        """Say where the keys are listed, if a typed character is none of them."""
        if event.is_printable and event.key not in self.active_bindings and not isinstance(self.focused, Input):
            self._show_message(f"{event.character} has no effect here; ? shows the keys")

    def action_perform(self, keys: ScreenName, name: str, *index: int) -> None:
        """Perform what has this name in the table of keys."""
        self._performs[name](*index)

    def _own_performs(self) -> Performs:
        app = self.app
        assert isinstance(app, SignalledApp)
        return {
            "next_entry": partial(app.simulate_key, "down"),
            "previous_entry": partial(app.simulate_key, "up"),
            "last_entry": partial(app.simulate_key, "end"),
            "next_list": self._entries.next_list,
            "filter": self._begin_filter,
            "clear": self._clear_filter,
            "mark": self._mark,
            "compare": self._compare,
            "export": self._ask_export,
            "levels": self._show_levels,
            "rename": self._ask_title,
            "delete": self._ask_delete,
            "sort": self._sort,
            "picture": app.action_picture,
            "help": self._show_help,
            "quit": app.action_leave,
        }

    def _show_help(self) -> None:
        self.app.push_screen(Help(self.NAME, self._preferences.keys))

    def _begin_filter(self) -> None:
        self.query_one("#filter").display = True
        self.query_one("#filter").focus()

    def _clear_filter(self) -> None:
        typed = self.query_one("#filter", Input)
        typed.value, typed.display = "", False
        self._entries.focus()

    def _sort(self, column: int) -> None:
        self._entries.sort_by(column)
        self._entries.fill()

    def _mark(self) -> None:
        if self._openable() is None:
            return
        if not self._entries.mark():
            return self._show_message(f"{len(LETTERS)} are already marked, the maximum for a comparison")
        self._entries.fill()

    def _compare(self) -> None:
        """Compare the marked sessions; with one mark, that session and the highlighted one; without, the epochs of the
        highlighted one.
        """
        entries = [row.entry for row in self._entries.compared()]
        if not entries:
            return self._show_message("only sessions can be compared: mark two with space, then press c")
        try:
            comparison = self._saved_sessions.compare(entries)
        except CapexplorerError as error:
            return self._show_message(f"mark two or more with space, then press c: {error}" if len(entries) < 2 else str(error))
        self.app.push_screen(CompareScreen(comparison, self._preferences.markers))

    def _show_levels(self) -> None:
        row = self._openable()
        if row is None:
            return
        try:
            rows = tuple(self._saved_sessions.levels(row.entry))
        except CapexplorerError as error:
            return self._show_message(str(error))
        self.app.push_screen(SessionLevels(safe(f"{title(row)}  {began(row.entry)} UTC"), rows))

    def _ask_title(self) -> None:
        row = self._openable()
        if row is not None:
            hint = "an empty title removes it; the recorded data does not change"
            self.app.push_screen(Ask("Title", hint, lambda message: None, value=row.title or ""), partial(self._renamed, row))

    def _renamed(self, row: SessionRow, title: str | None) -> None:
        if title is not None:
            self._do(lambda: self._saved_sessions.rename(row.entry, title))

    def _ask_delete(self) -> None:
        self._load()
        self._entries.fill()
        row = self._entries.row
        if row is None:
            return self._show_message("only sessions can be deleted here")
        if row.recording:
            why = "the session is being recorded (it has no end, and its log was just written to)"
            return self._show_message(f"not deleted: {why}")
        named = safe(row.title or row.entry.label or "")
        question = f"{safe(row.entry.id)}  {named}\n{size(row.entry.size_bytes)} will be deleted permanently."
        self.app.push_screen(Confirm("Delete this session?", question, "delete"), partial(self._deleted, row))

    def _deleted(self, row: SessionRow, sure: bool | None) -> None:
        if sure:
            self._do(lambda: self._saved_sessions.delete(row.entry))

    def _do(self, change: Callable[[], None]) -> None:
        """Change the folder, then reload the list; an error is shown afterwards."""
        problem = None
        try:
            change()
        except CapexplorerError as error:
            problem = str(error)
        self._load()
        self._entries.fill()
        if problem is not None:
            self._show_message(problem)

    def _ask_export(self) -> None:
        row = self._openable()
        if row is not None:
            self.app.push_screen(Choose("Export as", self._saved_sessions.formats), partial(self._export, row))

    def _export(self, row: SessionRow, form: str | None) -> None:
        if form is not None:
            self._show_message(f"exporting as {form} ...")
            self.run_worker(lambda: self._exported(row, form), thread=True)

    def _exported(self, row: SessionRow, form: str) -> None:
        """Write an export in a thread of its own, since a report takes seconds."""
        try:
            message = f"written: {self._saved_sessions.export(row.entry, form)}"
        except CapexplorerError as error:
            message = str(error)
        self.app.call_from_thread(self._show_message, message)

    def _openable(self) -> SessionRow | None:
        row = self._entries.row
        if row is not None and row.entry.problem is None:
            return row
        self._show_message("this key is for saved sessions: Tab goes to them" if row is None else row.entry.problem or "")
        return None

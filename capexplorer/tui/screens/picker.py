"""The screen of `capexplorer` without a command: profiles to run, saved sessions to open, compare, export and delete.

It receives both lists and opens no files: operations on sessions are performed by `SavedSessions`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key, Resize
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.worker import get_current_worker

from ...errors import CapexplorerError
from ...wording.quantities import size
from ..dialogs.ask import Ask, Confirm
from ..dialogs.choose import Choose
from ..key import ScreenName
from ..keybar import KeyLine, bindings, key_bar
from ..preferences import Preferences
from ..render.text import safe
from .compare import CompareScreen
from .entries import LETTERS, OTHERS, Entries
from .entry_detail import EntryDetail
from .help import Help
from .profiles import ProfileEntry
from .session_levels import SessionLevels
from .sessions import SavedSessions, SessionRow, began, title

OF_SESSIONS = ("mark", "export", "levels", "rename", "delete", "sort({index})")
"""Actions on sessions alone: while a profile is highlighted, the bar does not show their keys."""


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
        self._entries = Entries(profiles, default)
        self._detail = EntryDetail(id="detail")
        self._detailed = ""
        """Id of the entry that the detail shows."""

    def compose(self) -> ComposeResult:
        """Title, filter, list, detail, keys."""
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
        shown = [key for key in self._preferences.keys if key.action not in left_out]
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

    def action_help(self) -> None:
        """Open the help screen: keys, and meanings of the columns."""
        self.app.push_screen(Help(self.NAME, self._preferences.keys))

    def action_next_list(self) -> None:
        """Go to the other list: profiles or saved sessions."""
        self._entries.next_list()

    def action_filter(self) -> None:
        """Begin to type a filter."""
        self.query_one("#filter").display = True
        self.query_one("#filter").focus()

    def action_clear(self) -> None:
        """Show all entries again."""
        typed = self.query_one("#filter", Input)
        typed.value, typed.display = "", False
        self._entries.focus()

    def action_sort(self, column: int) -> None:
        """Sort by this column; again: reverse the order."""
        self._entries.sort_by(column)
        self._entries.fill()

    def action_mark(self) -> None:
        """Mark for a comparison (the first marked session is the baseline), or remove the mark."""
        if self._openable() is None:
            return
        if not self._entries.mark():
            return self._show_message(f"{len(LETTERS)} are already marked, the maximum for a comparison")
        self._entries.fill()

    def action_compare(self) -> None:
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

    def action_levels(self) -> None:
        """Open the table of levels."""
        row = self._openable()
        if row is None:
            return
        try:
            rows = tuple(self._saved_sessions.levels(row.entry))
        except CapexplorerError as error:
            return self._show_message(str(error))
        self.app.push_screen(SessionLevels(safe(f"{title(row)}  {began(row.entry)} UTC"), rows))

    def action_rename(self) -> None:
        """Ask for a title."""
        row = self._openable()
        if row is not None:
            hint = "an empty title removes it; the recorded data does not change"
            self.app.push_screen(Ask("Title", hint, lambda message: None, value=row.title or ""), partial(self._renamed, row))

    def _renamed(self, row: SessionRow, title: str | None) -> None:
        if title is not None:
            self._do(lambda: self._saved_sessions.rename(row.entry, title))

    def action_delete(self) -> None:
        """Ask before deleting; refuse a session that is being recorded."""
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

    def action_export(self) -> None:
        """Ask for the format of an export."""
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

"""What a bare `capexplorer` shows: profiles to run, saved sessions to look at. It is handed both, and knows no file of either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ...errors import CapexplorerError
from ...model.stream import SessionEntry
from ..render.text import MISSING, count, ms, pad, percent, rate, safe, span, three_digits
from ..terminal import Terminal
from ..themes import DARK, OURS


class ProfileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A profile that can be run."""

    name: str
    title: str = ""
    target: str = ""
    """The target's name, or the address of a service that runs already."""
    problem: str | None = None
    """Why it cannot be run, in one line."""


class LevelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A level of a saved session; None: not measured, or it never settled."""

    index: int
    users: int
    epoch: int = 0
    settled_for_s: float | None = None
    requests: int = 0
    goodput_rps: float | None = None
    goodput_se_rps: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    failure_ratio: float | None = None
    target_cpu_ratio: float | None = None


OpenSummary = Callable[[SessionEntry], Sequence[LevelRow]]
"""The level table of a session. A CapexplorerError is shown, in its one line."""

_HINT = "Enter opens   / filters   q quits"


class PickerApp(App[ProfileEntry]):
    """`pick` returns the profile to run, or None."""

    TITLE = "capexplorer"
    CSS_PATH = "picker.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q,ctrl+c", "leave", show=False, priority=True, system=True)]

    def __init__(
        self,
        profiles: Sequence[ProfileEntry],
        sessions: Sequence[SessionEntry],
        open_summary: OpenSummary,
        *,
        default: str = "mixed",
        terminal: Terminal | None = None,
    ) -> None:
        super().__init__(driver_class=terminal.driver_class() if terminal else None)
        for theme in OURS:
            self.register_theme(theme)
        self.theme = DARK.name
        self._picker = Picker(tuple(profiles), tuple(sessions), open_summary, default)

    def pick(self) -> ProfileEntry | None:
        """Run until something is picked. A defect in the screen is raised, not only printed."""
        picked = self.run(mouse=False)
        if self._exception is not None:
            raise self._exception
        return picked

    def get_default_screen(self) -> Screen[None]:
        """The picker from the start, so that keys pressed meanwhile reach it."""
        return self._picker

    def action_leave(self) -> None:
        """Nothing picked."""
        self.exit()

    def request_exit(self, reason: str) -> None:
        """From a signal handler: nothing picked."""
        self.call_later(self.exit)


class Picker(Screen[None]):
    """One list: profiles, then sessions, the newest first as they were handed in."""

    AUTO_FOCUS = "#entries"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", show=False),
        Binding("q", "app.leave", show=False),
        Binding("escape", "clear", show=False),
    ]

    def __init__(
        self, profiles: Sequence[ProfileEntry], sessions: Sequence[SessionEntry], open_summary: OpenSummary, default: str
    ) -> None:
        super().__init__()
        self._profiles, self._sessions, self._open, self._default = profiles, sessions, open_summary, default

    def compose(self) -> ComposeResult:
        """Title, filter, list, keys."""
        yield Static(Text("capexplorer   explore the capacity of a service"), id="title")
        yield Input(placeholder="filter", id="filter", compact=True)
        yield OptionList(id="entries", markup=False)
        yield Static(Text(_HINT), id="keys")

    def on_mount(self) -> None:
        """Everything, the default profile in front."""
        self.query_one("#filter").display = False
        self.fill("")

    def fill(self, wanted: str) -> None:
        """The entries whose text holds `wanted`."""
        entries = self.query_one("#entries", OptionList)
        entries.clear_options()
        entries.add_options(self._options(wanted.casefold()))
        names = [option.id for option in entries.options]
        default = f"profile {self._default}"
        first = next((index for index, option in enumerate(entries.options) if not option.disabled), None)
        entries.highlighted = names.index(default) if default in names else first

    def _options(self, wanted: str) -> list[Option]:
        profiles = [profile for profile in self._profiles if wanted in profile_line(profile).casefold()]
        sessions = [session for session in self._sessions if wanted in session_line(session).casefold()]
        return [
            _heading("Profiles"),
            *(Option(Text(profile_line(each)), id=f"profile {each.name}") for each in profiles),
            *([] if profiles else [_remark(wanted, "no profiles here: a *.toml in profiles/ makes one")]),
            _heading(""),
            _heading("Saved sessions"),
            *(Option(Text(session_line(each)), id=f"session {self._sessions.index(each)}") for each in sessions),
            *([] if sessions else [_remark(wanted, "none yet: each run saves one, also when it is cut short")]),
        ]

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as one types."""
        self.fill(event.value)

    def on_input_submitted(self) -> None:
        """Enter goes on in the list."""
        self.query_one("#entries").focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Run a profile, look at a session."""
        kind, _, name = (event.option.id or "").partition(" ")
        if kind == "profile":
            self._run(next(profile for profile in self._profiles if profile.name == name))
        elif kind == "session":
            self._look_at(self._sessions[int(name)])

    def _run(self, profile: ProfileEntry) -> None:
        if profile.problem is None:
            self.app.exit(profile)
        else:
            self._say(profile.problem)

    def _look_at(self, session: SessionEntry) -> None:
        if session.problem is not None:
            return self._say(session.problem)
        try:
            rows = tuple(self._open(session))
        except CapexplorerError as error:
            return self._say(str(error))
        self.app.push_screen(Summary(session, rows))

    def _say(self, said: str) -> None:
        self.query_one("#keys", Static).update(Text(safe(said)))

    def action_filter(self) -> None:
        """Type to filter."""
        self.query_one("#filter").display = True
        self.query_one("#filter").focus()

    def action_clear(self) -> None:
        """All entries again."""
        typed = self.query_one("#filter", Input)
        typed.value, typed.display = "", False
        self.query_one("#entries").focus()


def _heading(said: str) -> Option:
    return Option(Text(said, "bold"), disabled=True)


def _remark(wanted: str, none: str) -> Option:
    return Option(Text("  nothing matches" if wanted else f"  {none}", "italic"), disabled=True)


def profile_line(profile: ProfileEntry) -> str:
    """Name, title, target; what is wrong with it."""
    line = f"  {pad(safe(profile.name), 16)} {pad(safe(profile.title), 32)} {pad(safe(profile.target), 24)}"
    return f"{line.rstrip()}  ! cannot be run" if profile.problem else line.rstrip()


def session_line(session: SessionEntry) -> str:
    """When, what, how long, how many levels, its label."""
    when = _when(session)
    if session.problem is not None:
        return f"  {when or safe(session.id):16} ! {safe(session.problem)}"
    duration = MISSING if session.duration_s is None else span(session.duration_s)
    levels = MISSING if session.levels is None else f"{session.levels} level{'s' * (session.levels != 1)}"
    state = "" if session.complete else "cut short"
    label = safe(session.label or "")
    profile = pad(safe(session.profile or session.target or ""), 16)
    line = f"  {when:16} {profile} {pad(duration, 11, right=True)} {pad(levels, 10, right=True)}"
    return f"{line}  {state:9} {pad(label, 8)}".rstrip()


def _when(session: SessionEntry) -> str:
    return safe(session.started_at or "")[:16].replace("T", " ")


class Summary(ModalScreen[None]):
    """The level table of a saved session, to look at."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,left", "dismiss(None)", show=False)]

    def __init__(self, entry: SessionEntry, rows: Sequence[LevelRow]) -> None:
        super().__init__()
        self._entry, self._rows = entry, rows

    def compose(self) -> ComposeResult:
        """The table."""
        with VerticalScroll(classes="page") as page:
            page.border_title = Text(f"{safe(self._entry.profile or self._entry.id)}  {_when(self._entry)}")
            page.border_subtitle = Text("Esc goes back")
            yield Static(summary_text(self._rows))


_COLUMNS = (
    ("level", 5),
    ("users", 6),
    ("goodput/s", 9),
    ("± se", 6),
    ("p50 ms", 6),
    ("p95 ms", 6),
    ("p99 ms", 6),
    ("failed", 6),
    ("cpu", 5),
    ("settled", 7),
)


def summary_text(rows: Sequence[LevelRow]) -> Text:
    """One line a level: 72 cells."""
    if not rows:
        return Text("no level in this session", "italic")
    text = Text(no_wrap=True)
    text.append(" ".join(pad(title, cells, right=True) for title, cells in _COLUMNS) + "\n", "bold")
    for row in rows:
        said = (
            str(row.index),
            count(row.users),
            rate(row.goodput_rps),
            three_digits(row.goodput_se_rps),
            ms(row.p50_ms),
            ms(row.p95_ms),
            ms(row.p99_ms),
            percent(row.failure_ratio),
            three_digits(row.target_cpu_ratio),
            MISSING if row.settled_for_s is None else f"{row.settled_for_s:.0f} s",
        )
        figures = zip(said, _COLUMNS, strict=True)
        text.append(" ".join(pad(each, cells, right=True) for each, (_, cells) in figures) + "\n")
    return text

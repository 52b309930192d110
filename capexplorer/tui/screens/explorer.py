"""The explorer screen: status area, panes and keys. It draws a feed's timeline, and passes keys to the parts that perform them.

Its parts are the lines around the panes (status, tabs, key bar), the arrangement of the panes, the view's options, exporting, and
the actions that it is given: steer the load, move through a recording, or watch. Live and replayed sessions have the same screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar, TypeVar, get_args

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import DescendantFocus, Key, Resize
from textual.screen import ModalScreen, Screen

from ...errors import SessionError
from ...model.kept_request import KeptRequests, NoRequests
from ...model.timeline import Timeline
from ..base_app import SignalledApp, palette_of
from ..display_options import DisplayOptions, Palette
from ..feed import Change, Feed
from ..keybar import Performs, bindings, performs
from ..keys import ScreenName
from ..panes.failures import FailuresPane
from ..panes.inspected import InspectArea
from ..panes.pane import ChartPane, Pane
from ..preferences import Preferences
from ..protocols import Actions, ChartClicked, FeedFailed, RunLeft, View
from ..typeahead import TypeAhead
from .arrangement import FAILURES, JOURNAL, Arrangement, Form, StatusLines
from .detail_screens import DetailScreens, LevelScreen
from .help import Help
from .inspecting import Inspecting
from .view_options import BaselineChoice, Baselines, Exporting, ViewOptions

Answer = TypeVar("Answer")


class ExplorerScreen(Screen[None]):
    """Shows one feed, with one set of actions."""

    AUTO_FOCUS = ""
    CSS_PATH = "explorer.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("inspect", "live", "replay")]
    """Bindings of `inspect` come first: while there is an inspection cursor, they apply instead of others with the same key."""

    def __init__(
        self,
        feed: Feed,
        actions: Actions,
        preferences: Preferences | None = None,
        *,
        whole: bool = False,
        requests: KeptRequests | None = None,
        baselines: Baselines | None = None,
    ) -> None:
        """`whole`: charts show the session's whole time at the start. `requests`: the session's kept requests."""
        super().__init__()
        self.feed, self.actions, self.preferences = feed, actions, preferences or Preferences()
        self.palette = Palette()
        self.status_lines = StatusLines(self, self.preferences.keys, self._draw_status)
        self.arrangement = Arrangement(self.show_message, self._arranged)
        self.inspecting = Inspecting(self, None if whole else self.preferences.window_s)
        self._baseline = BaselineChoice(self, baselines)
        self.options = ViewOptions(self, self.inspecting, self._baseline)
        self._exporting = Exporting(self, self._write)
        self.requests = requests or NoRequests("no requests were kept")
        self._detail_screens = DetailScreens(self)
        self._level: LevelScreen | None = None
        self._inspect_area = InspectArea(id="inspect")
        self._performs: Performs = {}
        actions.attach(self)

    @property
    def timeline(self) -> Timeline:
        """The feed's current timeline, also while the display is paused."""
        return self.feed.timeline

    @property
    def shown(self) -> Timeline:
        """The timeline that the panes show."""
        return self.options.paused or self.feed.timeline

    @property
    def along_load(self) -> bool:
        """Whether the pane in focus has loads on its x axis."""
        pane = self.arrangement.panes[self.arrangement.shown]
        return isinstance(pane, ChartPane) and pane.by_load

    @property
    def options_of_detail(self) -> DisplayOptions:
        """The view options for a pane that fills the screen."""
        return self.options.display_options(self.palette, large=True)

    @property
    def failures_shown(self) -> FailuresPane | None:
        """The failures pane if it is the one in focus."""
        return self.arrangement.failures if self.arrangement.shown == FAILURES else None

    # -- layout

    def compose(self) -> ComposeResult:
        """Status, tabs, panes, the inspected second, what the actions show, keys."""
        self._performs = performs(("inspect", self.actions.keys), self._own_performs(), self.actions.performs)
        yield self.status_lines.status
        yield self.status_lines.tabs
        yield Container(*self.arrangement.panes, id="panes")
        yield self._inspect_area
        yield self.status_lines.keys
        yield from self.actions.widgets()

    def on_mount(self) -> None:
        """Follow the theme."""
        self.palette = palette_of(self.app.current_theme, self.preferences.markers, colours=not self.app.no_color)
        self.app.theme_changed_signal.subscribe(self, lambda theme: self._themed())
        self.arrangement.panes[0].focus()

    def _themed(self) -> None:
        self.palette = palette_of(self.app.current_theme, self.preferences.markers, colours=not self.app.no_color)
        self.draw()

    def on_resize(self, event: Resize) -> None:
        """Choose the grid or tabs for the new size."""
        self.arrangement.fit(event.size)

    def _arranged(self) -> None:
        arrangement = self.arrangement
        for form in get_args(Form):
            self.set_class(arrangement.form == form, f"-{form}")
        for index, pane in enumerate(arrangement.panes):
            pane.display = arrangement.is_visible(index)
        arrangement.panes[arrangement.shown].focus()
        self.status_lines.draw_tabs(self.timeline, self.palette, arrangement.shown)
        self.call_after_refresh(self.draw)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Note the pane in focus, if a click or Textual moved the focus."""
        if isinstance(event.widget, Pane) and event.widget.display:
            self.arrangement.shown = self.arrangement.panes.index(event.widget)

    # -- drawing

    def catch_up(self) -> None:
        """Take new events from the feed, and draw the parts of the screen that they change."""
        try:
            change = self.feed.take()
        except SessionError as error:
            self.app.post_message(FeedFailed(error))
            return
        for notice in self.feed.notices():
            self.show_message(notice, alarm=True)
        if change is not Change.NOTHING:
            self._draw_status()
        if self.options.paused is None:
            self._draw_panes(change)

    def show_moment(self) -> None:
        """Show the time that a key moved to."""
        if not self._is_repeating:
            self.catch_up()

    @property
    def _is_repeating(self) -> bool:
        """Whether a key is held and comes faster than the screen is drawn: then only the last one of a row draws."""
        return isinstance(self.app, TypeAhead) and self.app.is_repeating

    def draw(self) -> None:
        """Draw everything."""
        self._draw_status()
        self._draw_panes(Change.PANES)

    def _draw_panes(self, change: Change) -> None:
        """Draw the panes that differ after this change."""
        panes = self.arrangement.panes
        self._draw_each(panes if change is Change.PANES else panes[JOURNAL:] if change is Change.ENTRIES else ())

    def draw_at_cursor(self) -> None:
        """Draw what depends on the inspection cursor and on the time shown."""
        if self._is_repeating:
            return
        self._draw_each(pane for pane in self.arrangement.panes if pane.AT_CURSOR)

    def _draw_each(self, panes: Iterable[Pane]) -> None:
        timeline = self.shown
        options = self.options.display_options(self.palette, large=self.arrangement.single)
        for pane in panes:
            pane.show(timeline, len(timeline) - 1, options)
        self._inspect_area.show(timeline, len(timeline) - 1, options)
        if self._level is not None:
            self._level.show(timeline, len(timeline) - 1, options)

    def _draw_status(self) -> None:
        """Status, tabs, keys, and what the actions show."""
        if not self.is_mounted:
            return
        bound: ScreenName = "inspect" if self.inspecting.is_on else self.actions.keys
        words = {"leave": "back" if self._leaves_first else "quit", **self.actions.key_words}
        self.status_lines.draw(self.timeline, self._view, self.palette, self.arrangement.shown, bound, words)
        self.actions.draw(self.palette)

    @property
    def _view(self) -> View:
        paused, exported = self.options.paused is not None, self._exporting.is_exported
        brief = self.inspecting.is_on and self.arrangement.is_small
        return replace(
            self.actions.view,
            brief=brief,
            verdict_lines=self.arrangement.verdict_lines,
            baseline=self._baseline.difference(self.shown, self.inspecting.seen_tick),
            paused=paused,
            exported=exported,
        )

    # -- answers and questions

    def show_message(self, message: str = "", *, alarm: bool = False) -> None:
        """Show a message in response to the last key, for a few seconds or until the next key. `alarm`: a refusal."""
        self.status_lines.show_message(message, alarm=alarm)

    def forget_message(self) -> None:
        """Remove the message with the next drawing of the status area."""
        self.status_lines.forget_message()

    def _write(self, sequence: str) -> None:
        """Write a control sequence to the terminal. App.copy_to_clipboard does the same, but does not support tmux."""
        if self.app._driver is not None:
            self.app._driver.write(sequence)

    def ask(self, question: ModalScreen[Answer], answered: Callable[[Answer | None], None]) -> None:
        """Open a dialog over the screen."""
        self.app.push_screen(question, answered)

    def leave(self) -> None:
        """Quit, as the key q does."""
        self.call_later(self._application.action_leave)

    def leave_run(self) -> None:
        """Close the screen of a run that goes on."""
        self.app.post_message(RunLeft())

    def act(self, name: str) -> None:
        """Perform what has this name in the table of keys."""
        self.call_later(self.perform, name)

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable only the keys of the screen's own actions, and those of the cursor while there is one."""
        bound = ("inspect", self.actions.keys) if self.inspecting.is_on else (self.actions.keys,)
        return action != "perform" or parameters[0] in bound

    def action_perform(self, keys: ScreenName, name: str, *index: int) -> None:
        """Perform what has this name in the table of keys. `keys`: the screen whose rows contain it."""
        self.perform(name, *index)

    def perform(self, name: str, *index: int) -> None:
        """Perform what has this name in the table of keys."""
        self._performs[name](*index)

    def _own_performs(self) -> Performs:
        """What the keys of every explorer screen do."""
        arrangement, inspecting, options, app = self.arrangement, self.inspecting, self.options, self._application
        return {
            "cursor_back": partial(inspecting.action_cursor, -1),
            "cursor_forward": partial(inspecting.action_cursor, 1),
            "leap_back": partial(inspecting.action_leap, -1),
            "leap_forward": partial(inspecting.action_leap, 1),
            "cursor_next_level": partial(inspecting.action_cursor_level, 1),
            "cursor_previous_level": partial(inspecting.action_cursor_level, -1),
            "open_level": inspecting.action_open_level,
            "inspect": inspecting.action_inspect,
            "leave_inspection": inspecting.action_leave_inspection,
            "window": inspecting.action_window,
            "zoom_in": partial(inspecting.action_zoom, 1),
            "zoom_out": partial(inspecting.action_zoom, -1),
            "pane": arrangement.action_pane,
            "next_pane": partial(arrangement.action_next_pane, 1),
            "previous_pane": partial(arrangement.action_next_pane, -1),
            "failures": arrangement.action_failures,
            "raw": arrangement.action_raw,
            "log": arrangement.action_log,
            "maximise": arrangement.action_maximise,
            "leave_pane": self._leave_pane,
            "endpoints": self._detail_screens.action_endpoints,
            "requests": self._detail_screens.action_requests,
            "stacks": self._detail_screens.action_stacks,
            "settings": self._detail_screens.action_settings,
            "pause_display": options.action_pause_display,
            "logarithmic": options.action_logarithmic,
            "latency_form": options.action_latency_form,
            "latency_kind": options.action_latency_kind,
            "baseline": self._baseline.action_baseline,
            "choose_baseline": self._baseline.action_choose_baseline,
            "export": self._exporting.action_export,
            "copy": self._exporting.action_copy,
            "picture": app.action_picture,
            "commands": app.action_command_palette,
            "help": self._show_help,
            "quit": self._leave,
        }

    @property
    def _application(self) -> SignalledApp[object]:
        assert isinstance(self.app, SignalledApp)
        return self.app

    def on_key(self, event: Key) -> None:
        """Say where the keys are listed, if a typed character is none of them."""
        if event.is_printable and event.key not in self.active_bindings:
            self.show_message(f"{event.character} has no effect here; ? shows the keys")

    def _leave_pane(self) -> None:
        if self.arrangement.fills:
            return self.arrangement.leave()
        self.show_message("nothing to leave; q quits, ? shows the keys")

    @property
    def _leaves_first(self) -> bool:
        """Whether the key q leaves a pane before it quits: in a replay. A live run asks under load."""
        return self.actions.keys == "replay" and self.arrangement.fills

    def _leave(self) -> None:
        if self._leaves_first:
            return self.arrangement.leave()
        self._application.action_leave()

    def on_chart_clicked(self, message: ChartClicked) -> None:
        """Move the cursor to where a chart was clicked."""
        self.inspecting.point(message.x, by_load=message.by_load)

    def open_level(self) -> None:
        """Open the screen of the level at the cursor."""
        self._level = LevelScreen(self.inspecting, self._detail_screens)
        self.app.push_screen(self._level, self._level_closed)
        self.call_after_refresh(self.draw)

    def _level_closed(self, _: None) -> None:
        self._level = None
        self.draw()

    def _show_help(self) -> None:
        self.app.push_screen(Help(self.actions.keys, self.preferences.keys))

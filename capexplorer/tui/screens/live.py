"""The live screen: status, panes, keys. From 120x40 on six panes in a grid; below, or with one maximised, one pane behind tabs.

Draws from a timeline that others fold events into; a replay is the same screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import DescendantFocus, Resize
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from ...model.stream import Controls
from ...model.timeline import Timeline
from ..hold import moment
from ..keybar import bindings, key_bar
from ..keys import ScreenName
from ..look import Look, Palette
from ..messages import Folded
from ..panes.curve import CurvePane
from ..panes.endpoints import EndpointsPane
from ..panes.failures import FailuresPane, tally
from ..panes.journal import JournalPane
from ..panes.latency import LatencyPane
from ..panes.log import LogPane
from ..panes.pane import Pane
from ..panes.resources import ResourcesPane
from ..panes.status import StatusArea
from ..panes.status_view import View, watched
from ..panes.throughput import ThroughputPane
from ..render.text import Piece, cells, line
from ..themes import palette_of
from .exporting import Exporting
from .help import Help

WIDE = (120, 40)
"""From this many columns and lines on all panes are seen at once."""

PANES: tuple[tuple[str, type[Pane]], ...] = (
    ("throughput", ThroughputPane),
    ("latency", LatencyPane),
    ("curve", CurvePane),
    ("resources", ResourcesPane),
    ("endpoints", EndpointsPane),
    ("journal", JournalPane),
    ("failures", FailuresPane),
    ("log", LogPane),
)
GRID = 6
"""As many make the grid; failures and log stand alone."""
JOURNAL, FAILURES, LOG = GRID - 1, GRID, GRID + 1

SHORT = {"throughput": "req/s"}
"""Names where all do not fit."""

WINDOWS_S = (60.0, 300.0, 900.0, None)


class LiveScreen(Exporting):
    """`shown` is the pane that stands alone, or the one in focus."""

    AUTO_FOCUS = ""
    NAME: ClassVar[ScreenName] = "live"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("live")]

    def __init__(self, timeline: Timeline, controls: Controls | None) -> None:
        super().__init__(timeline, controls)
        self.wide = False
        self.maximised = False
        self.shown = 0
        self._before = 0
        self.window_s: float | None = 300.0
        self.log_latency = False
        self.held: Timeline | None = None
        self.palette = Palette()
        self._key_bar = ""
        self.status, self.tabs, self.keys = StatusArea(id="status"), TabBar(id="tabs"), Static(id="keys", markup=False)
        self.panes = [kind(id=name) for name, kind in PANES]

    # -- layout

    def compose(self) -> ComposeResult:
        """Status, tabs, panes, keys."""
        yield self.status
        yield self.tabs
        yield Container(*self.panes, id="panes")
        yield self.keys

    def on_mount(self) -> None:
        """Follow the theme."""
        self.palette = palette_of(self.app.current_theme)
        self.app.theme_changed_signal.subscribe(self, lambda theme: self._themed())
        self.panes[0].focus()

    def _themed(self) -> None:
        self.palette = palette_of(self.app.current_theme)
        self.draw()

    def on_resize(self, event: Resize) -> None:
        """Grid or tabs."""
        self.wide = event.size.width >= WIDE[0] and event.size.height >= WIDE[1]
        self.lay_out()

    @property
    def single(self) -> bool:
        """One pane stands alone."""
        return self.maximised or not self.wide or self.shown >= GRID

    def lay_out(self) -> None:
        """Show the panes that this size and choice call for."""
        self.set_class(self.single, "-single")
        for index, pane in enumerate(self.panes):
            pane.display = index == self.shown if self.single else index < GRID
        self.panes[self.shown].focus()
        self._show_tabs()
        self.call_after_refresh(self.draw)

    # -- drawing

    def on_folded(self, message: Folded) -> None:
        """Panes once a second; what was asked, noted or logged at once."""
        self.step = self.timeline.step if self.controls is None else self.step
        self.status_changed()
        if self.held is None:
            for pane in self.panes if message.ticked else self.panes[JOURNAL:]:
                self._show(pane)

    def status_changed(self) -> None:
        """Status and keys."""
        if not self.is_mounted:
            return
        self.status.show(self.timeline, self.view, self.palette)
        self._show_tabs()
        keys = self.key_bar(self.size.width - 1)
        if keys != self._key_bar:  # an update lays the whole screen out anew
            self._key_bar = keys
            self.keys.update(Text(keys, no_wrap=True))

    def _show_tabs(self) -> None:
        failed = tally(self.timeline)
        self.tabs.show(self.shown, self.palette, failed.said, alarmed=failed.grave)

    def key_bar(self, width: int) -> str:
        """The line at the bottom."""
        return key_bar(self.NAME, width)

    def draw(self) -> None:
        """Everything, now."""
        self.status_changed()
        for pane in self.panes:
            self._show(pane)

    def _show(self, pane: Pane) -> None:
        timeline = self.held or self.timeline
        look = Look(palette=self.palette, window_s=self.window_s, log_latency=self.log_latency, large=self.single)
        pane.show(timeline, len(timeline) - 1, look)

    @property
    def view(self) -> View:
        """What this screen knows beside the timeline."""
        controls = self.controls
        return View(
            wanted=controls.wanted if controls else self.timeline.wanted,
            max_users=controls.max_users if controls else None,
            step=self.step,
            spawn_rate=controls.spawn_rate if controls else None,
            held=self.held is not None,
            said=self.said,
            alarm=self.alarm,
            can_restart=controls is not None and controls.can_restart,
            autopilot=controls.autopilot if controls else watched(self.timeline).autopilot,
        )

    # -- view actions

    def action_hold(self) -> None:
        """Freeze the panes, or let them go on."""
        self.held = moment(self.timeline) if self.held is None else None
        self.say()
        self.draw()

    def action_maximise(self) -> None:
        """The pane in focus alone, and back."""
        if not self.wide:
            return self.say(f"below {WIDE[0]}x{WIDE[1]} one pane at a time: Tab, 1-8")
        if self.shown >= GRID:
            return self.action_pane(self._before)
        self.maximised = not self.maximised
        self.lay_out()

    def action_window(self) -> None:
        """The next time window."""
        self.window_s = WINDOWS_S[(WINDOWS_S.index(self.window_s) + 1) % len(WINDOWS_S)]
        self.say("time window: all" if self.window_s is None else f"time window: {self.window_s / 60:g} min")
        self.draw()

    def action_logarithmic(self) -> None:
        """Logarithmic latency, and back."""
        self.log_latency = not self.log_latency
        self.say(f"latency: {'logarithmic' if self.log_latency else 'linear'}")
        self.draw()

    def action_pane(self, index: int) -> None:
        """The pane with this number."""
        self.shown = index
        self.lay_out()

    def action_next_pane(self, direction: int) -> None:
        """The next (1) or previous (-1) pane; failures and log are among them where panes stand alone."""
        count = len(PANES) if self.single else GRID
        self.action_pane((self.shown + direction) % count)

    def action_failures(self) -> None:
        """The failures by cause, and back."""
        if self.shown != FAILURES:
            self._failures.toggle_raw(False)
        self._there_and_back(FAILURES)

    def action_raw(self) -> None:
        """The raw errors, and back to their causes."""
        self._failures.toggle_raw(None if self.shown == FAILURES else True)
        if self.shown != FAILURES:
            self._there_and_back(FAILURES)

    @property
    def _failures(self) -> FailuresPane:
        pane = self.panes[FAILURES]
        assert isinstance(pane, FailuresPane)
        return pane

    def action_log(self) -> None:
        """The log, and back."""
        self._there_and_back(LOG)

    def _there_and_back(self, index: int) -> None:
        if self.shown == index:
            return self.action_pane(self._before)
        if self.shown < GRID:
            self._before = self.shown
        self.action_pane(index)

    def action_help(self) -> None:
        """The keys and what the figures mean."""
        self.app.push_screen(Help(self.NAME))

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Focus that came by other ways than keys."""
        if isinstance(event.widget, Pane) and event.widget.display:
            self.shown = self.panes.index(event.widget)


class TabBar(Widget):
    """The names of the panes with their keys, and how many failures there are."""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self._shown, self._palette, self._failed, self._alarmed = 0, Palette(), "", False

    def show(self, shown: int, palette: Palette, failed: str, *, alarmed: bool) -> None:
        """Draw with this one in front. `failed`: how many failures; `alarmed`: grave ones stand."""
        if (shown, palette, failed, alarmed) != (self._shown, self._palette, self._failed, self._alarmed):
            self._shown, self._palette, self._failed, self._alarmed = shown, palette, failed, alarmed
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line; where it is narrow closer together, and with shorter names."""
        for gap, short in ((" ", False), ("", False), ("", True)):
            pieces = list(self._pieces(gap, short))
            if cells(pieces) <= self.size.width:
                break
        return line(pieces, self.size.width).apply_style(self.rich_style)

    def _pieces(self, gap: str, short: bool) -> Iterator[Piece]:
        palette = self._palette
        muted, front = Style(color=palette.muted), Style(color=palette.text, bold=True, reverse=True)
        alarm = Style(color=palette.error, bold=True, reverse=self._shown == FAILURES)
        yield "" if gap else " ", muted
        for index, (name, _) in enumerate(PANES):
            shown = front if index == self._shown else muted
            yield f"{gap}{index + 1} {SHORT.get(name, name) if short else name}", shown
            if index == FAILURES and self._failed:
                yield f":{self._failed}", alarm if self._alarmed else shown
            yield gap or " ", shown if gap else muted

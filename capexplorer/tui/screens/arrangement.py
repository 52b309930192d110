"""Which panes are visible, with the keys that change it: a grid of four in terminals of 80x24 or more, of six from 120x40 on, of
eight from 180x50 on. In a smaller terminal, or if a pane is maximised, one pane is visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace
from rich.style import Style
from textual.events import Click
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from ...model.timeline import Timeline
from ..display_options import Palette
from ..keybar import KeyLine, key_bar
from ..keys import Key, ScreenName
from ..panes.curve import CurvePane
from ..panes.endpoints import EndpointsPane
from ..panes.failures import FailuresPane, tally
from ..panes.journal import JournalPane, LogPane
from ..panes.latency import LatencyPane
from ..panes.pane import Pane
from ..panes.resources import PartsPane, ResourcesPane
from ..panes.status import StatusArea
from ..panes.throughput import ThroughputPane
from ..protocols import View
from ..render.text import Piece, cells, line, styled

SMALL, WIDE, HUGE = (80, 24), (120, 40), (180, 50)
"""Least (columns, lines) of a terminal for the grids of four, six and eight panes."""

PANES: tuple[tuple[str, type[Pane]], ...] = (
    ("throughput", ThroughputPane),
    ("latency", LatencyPane),
    ("curve", CurvePane),
    ("resources", ResourcesPane),
    ("endpoints", EndpointsPane),
    ("journal", JournalPane),
    ("failures", FailuresPane),
    ("log", LogPane),
    ("parts", PartsPane),
)
"""(id, class) of each pane, in the order of their keys 1 to 9."""
JOURNAL, FAILURES, LOG = 5, 6, 7
"""Indices in PANES."""

Form = Literal["single", "small", "wide", "huge"]
IN_GRID: dict[Form, int] = {"single": 0, "small": 4, "wide": 6, "huge": 8}
"""Number of panes in the grid of each form; the other panes are shown alone."""


class Arrangement:
    """The panes, and which of them are visible. `shown` is the index of the pane that is shown alone, or of the one in focus.

    `show_message` shows a message in response to a key. `arranged` is called after each change.
    """

    def __init__(self, show_message: Callable[[str], None], arranged: Callable[[], None]) -> None:
        self.panes = [kind() for _, kind in PANES]
        for pane, (name, _) in zip(self.panes, PANES, strict=True):
            pane.id = name
        self.shown = 0
        self._show_message, self._arranged = show_message, arranged
        self._form: Form = "single"
        self._maximised = False
        self._before = 0
        """Index of the pane that was in focus before one that fills the screen, and is again after it."""

    def fit(self, size: Size) -> None:
        """Choose the form for a terminal of this size."""
        forms: tuple[tuple[Form, tuple[int, int]], ...] = (("huge", HUGE), ("wide", WIDE), ("small", SMALL))
        self._form = next((form for form, least in forms if size.width >= least[0] and size.height >= least[1]), "single")
        self._arranged()

    @property
    def form(self) -> Form:
        """The present form; `single` while one pane is shown alone."""
        return "single" if self.single else self._form

    @property
    def is_small(self) -> bool:
        """Whether the terminal is too small for the grid of six."""
        return self._form in ("single", "small")

    @property
    def verdict_lines(self) -> int:
        """The most lines that panes can spare for the verdict."""
        return 2 if self.is_small else 3

    @property
    def single(self) -> bool:
        """Whether one pane is shown alone."""
        return self._maximised or self.shown >= self._in_grid

    @property
    def _in_grid(self) -> int:
        return IN_GRID[self._form]

    def is_visible(self, index: int) -> bool:
        """Whether the pane with this number is visible."""
        return index == self.shown if self.single else index < self._in_grid

    @property
    def fills(self) -> bool:
        """Whether a pane fills the screen and can be left."""
        return not self._is_home(self.shown) or (self._maximised and self._form != "single")

    def _is_home(self, index: int) -> bool:
        """Whether this pane is in the grid or, in a small terminal, one of the charts and lists before the failures."""
        return index < (self._in_grid or FAILURES)

    # -- actions

    def action_pane(self, index: int) -> None:
        """Show the pane with this number."""
        if self._is_home(self.shown):
            self._before = self.shown
        self.shown = index
        self._arranged()

    def leave(self) -> None:
        """Leave the pane that fills the screen: show all panes again, with the pane before in focus."""
        if self._is_home(self.shown):
            self._maximised = False
            self._arranged()
        else:
            self.action_pane(self._before)

    def action_next_pane(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) pane; in the grid of six, failures and log are skipped."""
        count = len(PANES) if self.single or self._form != "wide" else self._in_grid
        self.action_pane((self.shown + direction) % count)

    def action_maximise(self) -> None:
        """Show the pane in focus alone, or all again."""
        if self._form == "single":
            return self._show_message(f"terminals below {SMALL[0]}x{SMALL[1]} show one pane at a time: Tab, 1-9")
        if self.shown >= self._in_grid:
            return self.leave()
        self._maximised = not self._maximised
        self._arranged()

    def action_failures(self) -> None:
        """Show the failures by cause, or the pane before."""
        if self.shown != FAILURES:
            self.failures.toggle_raw(False)
        self._toggle(FAILURES)

    def action_raw(self) -> None:
        """Show the raw errors, or their causes again."""
        self.failures.toggle_raw(None if self.shown == FAILURES else True)
        if self.shown != FAILURES:
            self._toggle(FAILURES)

    def action_log(self) -> None:
        """Show the log, or the pane before."""
        self._toggle(LOG)

    @property
    def failures(self) -> FailuresPane:
        """The pane of the failures."""
        pane = self.panes[FAILURES]
        assert isinstance(pane, FailuresPane)
        return pane

    def _toggle(self, index: int) -> None:
        """Show the pane with this index or, if it is shown, the one before."""
        if self.shown == index:
            return self.action_pane(self._before)
        self.action_pane(index)


# -- tab bar -------------------------------------------------------------------------------------------------------------------
# The line with the names of the panes, their keys, and the number of failures.


SHORT = {"throughput": "req/s", "latency": "p95", "resources": "usage", "journal": "marks"}
"""Shorter names of panes, for terminals that are too narrow for all names."""


class TabBar(Widget):
    """The line of tabs."""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self._shown, self._palette, self._failed, self._alarmed = 0, Palette(), "", False

    def show(self, shown: int, palette: Palette, failed: str, *, alarmed: bool) -> None:
        """Draw the line with the pane of index `shown` highlighted. `failed`: count of failures; `alarmed`: whether it is red."""
        if (shown, palette, failed, alarmed) != (self._shown, self._palette, self._failed, self._alarmed):
            self._shown, self._palette, self._failed, self._alarmed = shown, palette, failed, alarmed
            self.refresh()

    def on_click(self, event: Click) -> None:
        """Show the pane whose name was clicked, by its key. Only with the mouse enabled."""
        found = event.style.meta.get("pane")
        if found is not None:
            self.app.simulate_key(str(found))

    def render_line(self, y: int) -> Strip:
        """The line; in narrow terminals with less space between names, and with shorter names."""
        for gap, short in ((" ", False), ("", False), ("", True)):
            pieces = list(self._pieces(gap, short))
            if cells(pieces) <= self.size.width:
                break
        return line(pieces, self.size.width).apply_style(self.rich_style)

    def _pieces(self, gap: str, short: bool) -> Iterator[Piece]:
        palette = self._palette
        muted, front = styled(color=palette.muted), styled(color=palette.text, bold=True, reverse=True)
        alarm = styled(color=palette.error, bold=True, reverse=self._shown == FAILURES)
        yield "" if gap else " ", muted
        for index, (name, _) in enumerate(PANES):
            shown = (front if index == self._shown else muted) + Style(meta={"pane": index + 1})
            yield f"{gap}{index + 1} {SHORT.get(name, name) if short else name}", shown
            if index == FAILURES and self._failed:
                yield f":{self._failed}", alarm if self._alarmed else shown
            yield gap or " ", shown if gap else muted


MESSAGE_S = 5.0
"""Seconds for which a message stays in the status line."""


# -- status lines --------------------------------------------------------------------------------------------------------------
# The lines around the explorer screen's panes: status area, tabs and key bar. Drawn only if what they show has changed.


class StatusLines:
    """The widgets of a screen, and the message in its status line. `redraw` calls `draw` with the present state."""

    def __init__(self, screen: Screen[None], keys: Sequence[Key], redraw: Callable[[], None]) -> None:
        self._screen, self._table, self._redraw = screen, keys, redraw
        self.status, self.tabs, self.keys = StatusArea(), TabBar(id="tabs"), KeyLine(id="keys", markup=False)
        self.message, self._alarm, self._message_count = "", False, 0
        self._drawn: tuple[object, ...] = ()
        """What the lines show."""
        self._keys_of: tuple[object, ...] = ()
        """What the line of keys depends on."""

    def show_message(self, message: str, *, alarm: bool) -> None:
        """Show a message for a few seconds or until the next one. `alarm`: a refusal."""
        self.message, self._alarm = message, alarm
        self._message_count += 1
        if message:
            count = self._message_count
            self._screen.set_timer(
                MESSAGE_S, lambda: self.show_message("", alarm=False) if self._message_count == count else None
            )
        self._redraw()

    def forget_message(self) -> None:
        """Remove the message with the next drawing."""
        self.message, self._alarm = "", False

    def draw(
        self, timeline: Timeline, view: View, palette: Palette, pane: int, bound: ScreenName, key_words: Mapping[str, str]
    ) -> None:
        """Draw all lines. `pane`: index of the pane in focus. `bound`: the screen name whose keys are bound."""
        view, size = replace(view, message=self.message, alarm=self._alarm), self._screen.size
        drawn = (timeline, timeline.applied, view, bound, key_words, palette, size)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self.status.show(timeline, view, palette)
        self.draw_tabs(timeline, palette, pane)
        if (bound, key_words, size.width) != self._keys_of:  # an update makes Textual lay out the whole screen again
            self._keys_of = bound, key_words, size.width
            self.keys.show_keys(key_bar(bound, size.width - 1, self._table, **key_words))

    def draw_tabs(self, timeline: Timeline, palette: Palette, pane: int) -> None:
        """Draw the line of tabs, with the count of failures."""
        failed = tally(timeline)
        self.tabs.show(pane, palette, failed.words, alarmed=failed.severe)

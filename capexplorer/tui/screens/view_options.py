"""The keys for the panes' view options and for pausing the display."""

from __future__ import annotations

import base64
import copy
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from ...errors import InputError
from ...model.figures import LevelBin
from ...model.histogram import LatencyHistogram
from ...model.level import Level
from ...model.stages import LatencyKind
from ...model.timeline import Timeline
from ...wording.quantities import LATENCY_NAMES, size
from ..dialogs import Ask, ExportForm
from ..display_options import DisplayOptions, LatencyForm, Palette, next_kind
from ..panes.baseline_curve import difference_at
from ..protocols import ScreenAccess
from .inspecting import Inspecting

if TYPE_CHECKING:
    from ...report.compare.comparison import Curve


# -- clipboard -----------------------------------------------------------------------------------------------------------------
# Writes to the terminal's clipboard by the escape sequence OSC 52, which also works over SSH.
#
# A terminal does not report whether it accepted the sequence. tmux accepts it with `set-clipboard on`, and passes it through in
# its own envelope with `allow-passthrough on`; both are sent. GNU screen passes envelopes of 768 bytes through.


_SCREEN_MOST = 700
"""Most characters in an envelope of GNU screen."""


def sequences(text: str, environment: Mapping[str, str]) -> str:
    """The text to write to the terminal, so that its clipboard has `text`."""
    plain = f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}\a"
    if in_tmux(environment):
        return f"{plain}\x1bPtmux;\x1b{plain}\x1b\\"
    if environment.get("STY"):
        parts = (plain[begin : begin + _SCREEN_MOST] for begin in range(0, len(plain), _SCREEN_MOST))
        return "".join(f"\x1bP{part}\x1b\\" for part in parts)
    return plain


def in_tmux(environment: Mapping[str, str]) -> bool:
    """Whether the terminal is tmux, on this machine or on the one that the SSH session came from."""
    return bool(environment.get("TMUX")) or environment.get("TERM", "").startswith("tmux")


# -- frozen timeline -----------------------------------------------------------------------------------------------------------


def frozen_copy(timeline: Timeline) -> Timeline:
    """A copy that later events do not change. It shares the columns, which only grow: `ticks` is its own length."""
    frozen = copy.copy(timeline)
    frozen.levels = [level if level.closed else _FrozenLevel(level) for level in timeline.levels]
    frozen.marks, frozen.journal, frozen.log = dict(timeline.marks), list(timeline.journal), list(timeline.log)
    frozen.verdicts, frozen.parts = dict(timeline.verdicts), dict(timeline.parts)
    frozen.failures = {key: copy.copy(count) for key, count in timeline.failures.items()}
    return frozen


class _FrozenLevel(Level):
    """An open level whose figures no longer change."""

    def __init__(self, level: Level) -> None:
        super().__init__(level.opened, level.first_index, level.opened_index)
        self._figures, self._endpoints, self._settled_s = level.figures, level.endpoints, level.settled_s
        kinds: tuple[LatencyKind, ...] = ("total", *level.figures.stages)
        self._bins, self._histograms = level.bins, {kind: level.histogram_of(kind).copy() for kind in kinds}

    @property
    def settled_s(self) -> float | None:
        return self._settled_s

    def histogram_of(self, kind: LatencyKind) -> LatencyHistogram:
        return self._histograms.get(kind) or LatencyHistogram()

    @property
    def bins(self) -> tuple[LevelBin, ...]:
        return self._bins


# -- baseline choice -----------------------------------------------------------------------------------------------------------


HINT = "a session's id, its beginning, or a path; SESSION#1 is its epoch 1"


class Baselines(msgspec.Struct, frozen=True):
    """The source of baselines."""

    read: Callable[[str], Curve]
    """Reads the curve of the session with this id or path. Raises InputError with a message of one line."""
    first: Curve | None = None
    """The baseline that is drawn from the start."""


class BaselineChoice:
    """The chosen baseline. `baselines` None: sessions cannot be read here."""

    def __init__(self, screen: ScreenAccess, baselines: Baselines | None) -> None:
        self._screen, self._baselines = screen, baselines
        self._curve = baselines.first if baselines is not None else None
        self._is_on = self._curve is not None

    @property
    def shown(self) -> Curve | None:
        """The curve to draw; None: none."""
        return self._curve if self._is_on else None

    def difference(self, timeline: Timeline, tick: int | None) -> str:
        """How the level of this tick differs from the baseline, and the baseline's name; empty while none is drawn. `tick` None:
        the latest level.
        """
        curve = self.shown
        return "" if curve is None else f"{difference_at(timeline, tick, curve)}; baseline {curve.name}"

    def action_baseline(self) -> None:
        """Show or hide the baseline; ask for one if none is chosen yet."""
        if self._curve is None:
            return self.action_choose_baseline()
        self._is_on = not self._is_on
        self._screen.show_message(f"baseline {self._curve.name}: {'on' if self._is_on else 'off'}")
        self._screen.draw()

    def action_choose_baseline(self) -> None:
        """Ask for another baseline."""
        if self._baselines is None:
            return self._screen.show_message("no session can be read here")
        named = self._curve.name if self._curve is not None else "last"
        self._screen.ask(Ask("Which session as the baseline?", HINT, self._wrong, value=named), self._chosen)

    def _wrong(self, answer: str) -> str | None:
        """Read the session that was typed. Returns why that failed, which keeps the question open; None if it succeeded."""
        assert self._baselines is not None
        try:
            self._curve = self._baselines.read(answer)
        except InputError as error:
            return str(error)
        return None

    def _chosen(self, answer: str | None) -> None:
        if answer is not None and self._curve is not None:
            self._is_on = True
            self._screen.show_message(f"baseline {self._curve.name}: on")
            self._screen.draw()


FORMS: Mapping[LatencyForm, str] = {"lines": "percentiles over time", "heatmap": "heatmap", "levels": "percentiles by level"}


class ViewOptions:
    """The options, and the actions that change them."""

    def __init__(self, screen: ScreenAccess, inspecting: Inspecting, baseline: BaselineChoice) -> None:
        self.log_latency = False
        self.latency_form: LatencyForm = "lines"
        self.latency_kind: LatencyKind = "total"
        self.paused: Timeline | None = None
        """The timeline that the panes show while the display is paused; None: not paused."""
        self._screen, self._inspecting, self._baseline = screen, inspecting, baseline

    def display_options(self, palette: Palette, *, large: bool) -> DisplayOptions:
        """The options for the panes."""
        time = self._inspecting.time
        return DisplayOptions(
            palette=palette,
            window_s=time.length_s,
            start_s=time.start_s,
            inspected=self._inspecting.seen_tick,
            log_latency=self.log_latency,
            latency_form=self.latency_form,
            latency_kind=self.latency_kind,
            baseline=self._baseline.shown,
            large=large,
        )

    def action_pause_display(self) -> None:
        """Pause or resume the display."""
        self.paused = frozen_copy(self._screen.timeline) if self.paused is None else None
        self._screen.show_message()
        self._screen.draw()

    def action_latency_form(self) -> None:
        """Draw latency in the next form: as lines, as a heatmap, by level."""
        forms = list(FORMS)
        self.latency_form = forms[(forms.index(self.latency_form) + 1) % len(forms)]
        self._screen.show_message(f"latency: {FORMS[self.latency_form]}")
        self._screen.draw()

    def action_latency_kind(self) -> None:
        """Show the next latency of streams: of whole requests, then of each stage that there is."""
        stages = self._screen.timeline.stages
        if not stages:
            return self._screen.show_message("no reply was a stream: a request has one latency")
        self.latency_kind = next_kind(self.latency_kind, stages)
        self._screen.show_message(f"latency: {self.latency_kind}, {LATENCY_NAMES[self.latency_kind]}")
        self._screen.draw()

    def action_logarithmic(self) -> None:
        """Draw latency on a logarithmic scale, or on a linear one again."""
        self.log_latency = not self.log_latency
        self._screen.show_message(f"latency: {'logarithmic' if self.log_latency else 'linear'}")
        self._screen.draw()


# -- exporting -----------------------------------------------------------------------------------------------------------------
# The keys that export a session: a report to a file, a summary to the clipboard.
#
# Formats are pure Python, and are imported when they are first needed: a long call into C code would hold the GIL and stop the
# load.


class Exporting:
    """Exports the session so far, while load runs or not. `write` writes to the terminal."""

    def __init__(self, screen: ScreenAccess, write: Callable[[str], None]) -> None:
        self._screen, self._write = screen, write
        self._exported_levels = -1

    @property
    def is_exported(self) -> bool:
        """Whether a report with all levels so far was written."""
        return self._exported_levels == len(self._screen.timeline.levels)

    def action_export(self) -> None:
        """Ask for a format and a file."""
        screen = self._screen
        if screen.timeline.header is None:
            return screen.show_message("nothing has been recorded yet")
        screen.ask(ExportForm(screen.timeline), lambda written: self._exported(written) if written else None)

    def _exported(self, written: str) -> None:
        self._exported_levels = len(self._screen.timeline.levels)
        self._screen.show_message(written)

    def action_copy(self) -> None:
        """Copy a Markdown summary to the terminal's clipboard."""
        from ...report.formats import markdown

        if self._screen.timeline.header is None:
            return self._screen.show_message("nothing has been recorded yet")
        content = markdown.render(self._screen.timeline)
        self._write(sequences(content.decode(), os.environ))
        where = "tmux needs set-clipboard on" if in_tmux(os.environ) else "Markdown, by OSC 52"
        self._screen.show_message(f"copied {size(len(content))} ({where})")

"""The baseline: a saved session whose curve is drawn behind this one's. With the keys that choose it, and show or hide it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from ...model.timeline import Timeline
from ..actions.protocols import ScreenAccess
from ..dialogs.ask import Ask
from ..panes.baseline_curve import difference_at

if TYPE_CHECKING:
    from ...report.compare.comparison import Curve

HINT = "a session's id, its beginning, or a path; SESSION#1 is its epoch 1"


@dataclass(frozen=True, slots=True)
class Baselines:
    """The source of baselines."""

    read: Callable[[str], Curve]
    """Reads the curve of the session with this id or path. Raises InputError with a message of one line."""
    first: Curve | None = None
    """The baseline that is drawn from the start."""


class BaselineChoice:
    """The chosen baseline. `draw` is called after each change. `baselines` None: sessions cannot be read here."""

    def __init__(self, screen: ScreenAccess, baselines: Baselines | None, draw: Callable[[], None]) -> None:
        self._screen, self._baselines, self._draw = screen, baselines, draw
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
        self._draw()

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
            self._draw()

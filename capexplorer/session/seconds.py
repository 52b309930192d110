"""A level's accumulated seconds up to any moment of a recording, from columns and from the log.

Columns have no histograms of endpoints and only some readings, so samples are read again from the log for these. To accumulate a
level of 1,440 s from its start takes 20 ms. The latest state is continued if possible, and states are kept at intervals, so that
any moment is near one.
"""

from __future__ import annotations

from ..model import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.columns import Columns
from ..model.events import LevelOpened, Sample
from ..model.level import Folded
from ..model.level_fold import LevelFold, RampFold
from ..model.merged import Merged

KEEP_EVERY = 64
"""Settled seconds between states that are kept, each of about 8 KB: to continue from one takes at most 5 ms, for each second's
line is read and decoded again. A day has 1,350 of them.
"""


class LevelSeconds:
    """Accumulates the seconds of levels of a recording. `sample(tick)` reads the sample with this column index from the log."""

    def __init__(self, columns: Columns, sample: Callable[[int], Sample]) -> None:
        self._columns, self._sample = columns, sample
        self._latest: tuple[int, int, Merged] = (-1, 0, Merged())
        """The latest state: first tick of its level, number of settled seconds in it, and the sums."""
        self._states: dict[int, list[Merged]] = {}
        """By a level's first tick: the states after each KEEP_EVERY settled seconds."""

    def fold(self, opened: LevelOpened, first: int, stop: int, named: int) -> Folded:
        """The accumulated seconds of a level among the ticks [first, stop).

        Ticks before `named` belong to the level even if they have the index of another one: it was opened by a shift, which is
        detected later than it happens.
        """
        own = (np.flatnonzero(self._own(opened, first, stop, named)) + first).tolist()
        ticks = self._settled(opened, first, stop, named)
        fold = LevelFold(self._columns, own, ticks, self._merged(first, ticks))
        return fold, self._ramp(opened, own) if opened.ramp else None

    def walk(self, opened: LevelOpened, first: int, stop: int, named: int) -> Iterator[None]:
        """Compute the states of a level in advance, one per step of the iterator. Arguments as of `fold`."""
        ticks = self._settled(opened, first, stop, named)
        for count in range(KEEP_EVERY, len(ticks), KEEP_EVERY):
            self._merged(first, ticks[:count])
            yield

    def _own(self, opened: LevelOpened, first: int, stop: int, named: int) -> NDArray[np.bool_]:
        own: NDArray[np.bool_] = np.frombuffer(self._columns["level"][first:stop]) == opened.index
        own[: max(0, named - first)] = True
        return own

    def _settled(self, opened: LevelOpened, first: int, stop: int, named: int) -> list[int]:
        settled = np.frombuffer(self._columns["settled"][first:stop]) == 1.0
        return (np.flatnonzero(self._own(opened, first, stop, named) & settled) + first).tolist()

    def _ramp(self, opened: LevelOpened, ticks: Sequence[int]) -> RampFold:
        ramp = RampFold.of(opened, self._columns)
        for tick in ticks:
            ramp.add(self._sample(tick), tick)
        return ramp

    def _merged(self, first: int, ticks: Sequence[int]) -> Merged:
        states = self._states.setdefault(first, [])
        done, merged = self._nearest(first, len(ticks), states)
        for count in range(done, len(ticks)):
            if count and count % KEEP_EVERY == 0 and count // KEEP_EVERY > len(states):
                states.append(merged.copy())
            merged.add(self._sample(ticks[count]))
        self._latest = first, len(ticks), merged
        return merged.copy()

    def _nearest(self, first: int, wanted: int, states: Sequence[Merged]) -> tuple[int, Merged]:
        """The longest kept state of at most `wanted` settled seconds: their number, and the state to continue from."""
        kept = min(wanted // KEEP_EVERY, len(states))
        level, latest, merged = self._latest
        if level == first and kept * KEEP_EVERY <= latest <= wanted:
            return latest, merged
        return (kept * KEEP_EVERY, states[kept - 1].copy()) if kept else (0, Merged())

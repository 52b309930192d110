"""The screens of a run, and which of them holds the controls: at most one at any moment.

A screen that may steer gets the controls when no screen has them. Otherwise it asks for them. The holder sees the request and
hands the controls over with a key, or keeps them by steering. A holder that does neither loses them after ANSWER_S, since its
terminal may hang.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..load import native
from ..model.param import Param
from ..model.sources import Clock

ANSWER_S = 15.0
"""Seconds that the holder has to keep controls that another screen asks for."""


@dataclass(eq=False, slots=True)
class Screen:
    """One screen, on the run's own terminal or attached to it."""

    name: str
    may_steer: bool


Record = Callable[[dict[str, Param | None]], None]
"""Records a change as the command `controls`."""


class Screens:
    """Its methods may be called from any thread."""

    def __init__(self, record: Record, monotonic: Clock = time.monotonic) -> None:
        self._record, self._monotonic = record, monotonic
        self._screens: list[Screen] = []
        self._holder: Screen | None = None
        self._asker: Screen | None = None
        self._asked_s = 0.0
        self._lock = native.allocate_lock()

    # -- the present state

    @property
    def count(self) -> int:
        """Number of screens, those that only watch included."""
        return len(self._screens)

    @property
    def holder(self) -> str | None:
        """The name of the screen that holds the controls; None if no screen does."""
        holder = self._holder
        return holder.name if holder is not None else None

    @property
    def asked_by(self) -> str | None:
        """The name of the screen that asks for them; None if no screen does."""
        asker = self._asker
        return asker.name if asker is not None else None

    def holds(self, screen: Screen) -> bool:
        """Whether this screen holds them."""
        return self._holder is screen

    @contextmanager
    def turn(self, screen: Screen) -> Iterator[bool]:
        """Within the context: whether `screen` holds the controls. They are not handed to another screen meanwhile."""
        with self._lock:
            holds = self._holder is screen
            if holds and self._asker is not None:
                self._asker = None
                self._record({"holder": screen.name, "kept": True})
            yield holds

    # -- changes

    def begin(self, screen: Screen) -> None:
        """Add the run's own screen, before any other. It gets the controls, which is not recorded."""
        self._screens.append(screen)
        self._holder = screen

    def join(self, screen: Screen) -> None:
        """Add an attached screen. It gets the controls if it may steer and no screen has them."""
        with self._lock:
            self._screens.append(screen)
            if self._holder is None and screen.may_steer:
                self._hand_to(screen)

    def leave(self, screen: Screen) -> None:
        """Remove a screen. If it held the controls, the screen that asks for them gets them, else the earliest that may steer."""
        with self._lock:
            if screen not in self._screens:
                return
            self._screens.remove(screen)
            next_one = self._asker if self._asker is not screen else None
            if self._asker is screen:
                self._asker = None
            if self._holder is screen:
                self._hand_to(next_one or next((each for each in self._screens if each.may_steer), None))

    def ask(self, screen: Screen) -> None:
        """Ask for the controls for this screen. Has no effect while another screen asks for them."""
        with self._lock:
            if not screen.may_steer or self._holder is screen:
                return
            if self._holder is None:
                self._hand_to(screen)
            elif self._asker is None:
                self._asker, self._asked_s = screen, self._monotonic()
                self._record({"asked_by": screen.name})

    def give(self, screen: Screen) -> None:
        """Hand the controls of this screen to the one that asks for them."""
        with self._lock:
            if self._holder is screen and self._asker is not None:
                self._hand_to(self._asker)

    def look(self) -> None:
        """Hand the controls over if the holder did not answer within ANSWER_S. Call it several times a second."""
        with self._lock:
            if self._asker is not None and self._monotonic() - self._asked_s >= ANSWER_S:
                self._hand_to(self._asker)

    def _hand_to(self, screen: Screen | None) -> None:
        self._holder, self._asker = screen, None
        self._record({"holder": screen.name if screen is not None else None})

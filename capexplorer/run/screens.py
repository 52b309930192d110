"""The screens of a run, and which of them holds the controls: at most one at any moment.

A screen that may steer gets the controls when nobody has them. Another one asks for them: the holder sees that, and hands
them over with a key, or keeps them by going on to steer. A holder that does neither loses them after ANSWER_S: its terminal may
hang.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..load import native
from ..model.stream import Clock, Param

ANSWER_S = 15.0
"""A holder has so long to keep the controls that another screen asks for."""


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

    # -- as it is

    @property
    def count(self) -> int:
        """Screens there are, those that only watch included."""
        return len(self._screens)

    @property
    def holder(self) -> str | None:
        """The name of the screen that holds the controls."""
        holder = self._holder
        return holder.name if holder is not None else None

    @property
    def asked_by(self) -> str | None:
        """The name of the screen that asks for them."""
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

    # -- as it changes

    def begin(self, screen: Screen) -> None:
        """The run's own screen, before any other: that it has the controls goes without saying."""
        self._screens.append(screen)
        self._holder = screen

    def join(self, screen: Screen) -> None:
        """A screen is attached; it gets the controls if it may steer and nobody has them."""
        with self._lock:
            self._screens.append(screen)
            if self._holder is None and screen.may_steer:
                self._hand_to(screen)

    def leave(self, screen: Screen) -> None:
        """A screen has gone. If it held the controls, who asks for them gets them, else who may steer and came first."""
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
        """This screen asks for the controls. Without effect while another one does."""
        with self._lock:
            if not screen.may_steer or self._holder is screen:
                return
            if self._holder is None:
                self._hand_to(screen)
            elif self._asker is None:
                self._asker, self._asked_s = screen, self._monotonic()
                self._record({"asked_by": screen.name})

    def give(self, screen: Screen) -> None:
        """This screen hands the controls to the one that asks for them."""
        with self._lock:
            if self._holder is screen and self._asker is not None:
                self._hand_to(self._asker)

    def look(self) -> None:
        """Hand the controls over where the holder did not answer in time; to be called now and then."""
        with self._lock:
            if self._asker is not None and self._monotonic() - self._asked_s >= ANSWER_S:
                self._hand_to(self._asker)

    def _hand_to(self, screen: Screen | None) -> None:
        self._holder, self._asker = screen, None
        self._record({"holder": screen.name if screen is not None else None})

"""A log that is read as it grows, or replayed, for several readers at once; and threads that send what is new."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from ..model.events import Ended, Event, Header
from ..model.sources import Clock
from ..session.reader import SessionReader
from .table import METRICS, Metric, Totals, Values

T = TypeVar("T")

LOOK_S = 0.2
"""Seconds between checks for new lines, as of an attached screen."""


class Stop:
    """Says when to stop. A signal handler may set it: `threading.Event` has a lock, which the handler may find taken."""

    by = ""
    """Name of the signal that set it; empty: it is not set."""

    @property
    def is_set(self) -> bool:
        """Whether to stop."""
        return bool(self.by)

    def wait(self, seconds: float = math.inf) -> bool:
        """Wait so long, or until it is set. Returns whether it is."""
        until_s = time.monotonic() + seconds
        while not self.is_set and (left_s := until_s - time.monotonic()) > 0:
            time.sleep(min(left_s, LOOK_S))
        return self.is_set


class Moment(NamedTuple):
    """The table at one moment of the session."""

    session: str
    began_s: float
    now_s: float
    """Unix times of the session's start and of this moment (`FollowedSession.unix_s`)."""
    applied: int
    """Number of events so far: as long as it stays, so do the figures."""
    figures: list[tuple[Metric, Values]]


class FollowedSession:
    """`follow` in one thread; all other methods in any."""

    def __init__(self, log: SessionReader, speed: float | None = None, clock: Clock = time.time) -> None:
        """`speed`: seconds of the session a second, from its start, as if it began now; None: all that is there, at once."""
        self._log, self._speed, self._clock = log, speed, clock
        self._totals, self._lock = Totals(), threading.Lock()
        self._apply(log.header)
        self.id = log.header.id
        self._began_s = clock() if speed is not None else _started_s(log.header, clock)

    def unix_s(self, t_s: float) -> float:
        """The time at which this moment of the session was, or is in a replay."""
        return self._began_s + t_s / (self._speed or 1.0)

    def read(self, of: Callable[[Totals], T]) -> T:
        """What `of` reads, while no event is applied."""
        with self._lock:
            return of(self._totals)

    def figures(self) -> list[tuple[Metric, Values]]:
        """The table as of now."""
        return self.read(lambda totals: [(metric, metric.read(totals)) for metric in METRICS])

    def moment(self) -> Moment:
        """The table with its time."""

        def of(totals: Totals) -> Moment:
            now_s = self.unix_s(totals.timeline.last_s)
            figures = [(metric, metric.read(totals)) for metric in METRICS]
            return Moment(self.id, self._began_s, now_s, totals.timeline.applied, figures)

        return self.read(of)

    def follow(self, stop: Stop, is_waiting: Callable[[], None]) -> None:
        """Apply the log's events until its end, or until `stop` is set. `is_waiting` is called once, when a log that has no end
        yet has been read. Raises SessionError.
        """
        has_waited = False
        while not stop.is_set:
            part = self._log.read_on(wait=True)
            for _, event in part:
                if event is None:
                    continue
                if self._speed is not None and stop.wait(max(0.0, self.unix_s(event.t_s) - self._clock())):
                    return
                self._apply(event)
                if isinstance(event, Ended):
                    return
            if not part:
                if not has_waited:
                    has_waited = True
                    is_waiting()
                stop.wait(LOOK_S)

    def _apply(self, event: Event) -> None:
        with self._lock:
            self._totals.apply(event)


def _started_s(header: Header, clock: Clock) -> float:
    """Unix time; an imported session may have none, and counts as of now."""
    try:
        return datetime.fromisoformat(header.started_at).timestamp()
    except ValueError:
        return clock()


# -- sending


class Receiver(Protocol):
    """A program that is sent what is new."""

    name: str
    """With its option, for messages."""
    every_s: float

    def send(self) -> None:
        """Send what is new, and keep what could not be sent for the next call. Raises OSError with the reason."""

    def close(self) -> None:
        """Close its connection."""


ENDS_WITHIN_S = 6.0


class Sending:
    """A thread that sends regularly, and once more at the end."""

    def __init__(self, receiver: Receiver, print_error: Callable[[str], None]) -> None:
        """`print_error` gets one line when sending begins to fail, or fails for another reason."""
        self._receiver, self._print_error = receiver, print_error
        self._stop, self._wrong = threading.Event(), ""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._receiver.every_s):
            self._send()
        self._send()
        self._receiver.close()

    def _send(self) -> None:
        try:
            self._receiver.send()
        except OSError as error:
            wrong = str(error)
            if wrong != self._wrong:
                self._print_error(f"{self._receiver.name}: {wrong}")
            self._wrong = wrong
        else:
            self._wrong = ""

    def end(self) -> bool:
        """Send what is left. Returns whether all was taken within a few seconds."""
        self._stop.set()
        self._thread.join(ENDS_WITHIN_S)
        return not self._thread.is_alive() and not self._wrong

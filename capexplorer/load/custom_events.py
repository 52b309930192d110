"""Request events of user code that are no requests: a token counter, the time to a first byte.

What HttpUser, FastHttpUser and LeanHttpUser fire is a request. What user code fires is a request of a client of its own, such as
gRPC, or a figure about a request that counts already. One user's requests follow each other, so it is the latter if
- its time lies within a request of such a client of the same user, or within the reading of its reply, or
- it has no time, and since then, or since its task began, the user has waited for nothing: no reply can have come.
Users who never use such a client have only requests of their own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import ParamSpec, TypeVar

from gevent import get_hub, getcurrent

P = ParamSpec("P")
T = TypeVar("T")

ROUNDED_S = 0.001
"""Events of user code may be longer than they were by this, since many round to milliseconds."""

CUSTOM_MOST = 20
"""Names of events of user code that are kept until a client's request ends; some users have no such client."""

_CLIENTS = ("locust.clients", "locust.contrib.fasthttp", "capexplorer.load.lean.session", "capexplorer.load.lean.response")
"""Modules whose code fires requests of clients. User code may pass any arguments, so they do not tell who fired an event."""


class RequestEvents:
    """The events of one user. Pure: times are passed in, in seconds. `turn`: how often the event loop has waited, which does not
    change while a greenlet runs.
    """

    __slots__ = ("_client_ended_s", "_custom", "_has_waited", "_turn")

    def __init__(self) -> None:
        self._client_ended_s = 0.0
        """When the latest request of a client, or the reading of its reply, ended."""
        self._custom: dict[str, float] = {}
        """Events of user code since then, and when each was fired."""
        self._turn = -1
        self._has_waited = True
        """Whether the user had waited, but not asleep, up to `_turn`, since its latest event or the begin of its task."""

    def task_begins(self, turn: int) -> None:
        """What the user has waited for until now was its next task."""
        self._turn, self._has_waited = turn, False

    def sleeps(self, turn: int) -> None:
        """The user goes to sleep."""
        self._has_waited = self._has_waited or turn != self._turn

    def wakes(self, turn: int) -> None:
        """The user has slept."""
        self._turn = turn

    def reads(self, now_s: float, turn: int) -> None:
        """The user has read a part of a client's reply."""
        self._client_ended_s, self._turn, self._has_waited = now_s, turn, False

    def of_client(self, began_s: float, ended_s: float, turn: int) -> list[str]:
        """A client's request has ended: the events that user code fired during it."""
        within = [name for name, fired_s in self._custom.items() if fired_s > began_s]
        self.reads(ended_s, turn)
        self._custom.clear()
        return within

    def of_user_code(self, name: str, began_s: float, fired_s: float, turn: int) -> list[str]:
        """User code fires an event: its name if it is no request, as far as it is known until now."""
        has_waited = self._has_waited or turn != self._turn
        self._turn, self._has_waited = turn, False
        has_time = began_s < fired_s
        if self._client_ended_s and (began_s + ROUNDED_S < self._client_ended_s or not (has_time or has_waited)):
            return [name]
        if len(self._custom) < CUSTOM_MOST:
            self._custom[name] = fired_s
        return []


def reading_parts(parts: Callable[P, Iterator[T]]) -> Callable[P, Iterator[T]]:
    """`iter_content` of a client's reply, which notes each part that user code reads."""

    def noting(*args: P.args, **options: P.kwargs) -> Iterator[T]:
        for part in parts(*args, **options):
            _reads()
            yield part
        _reads()

    return noting


def reading(read: Callable[P, T]) -> Callable[P, T]:
    """`read` of a client's reply, which notes that user code reads it."""

    def noting(*args: P.args, **options: P.kwargs) -> T:
        try:
            return read(*args, **options)
        finally:
            _reads()

    return noting


def _reads() -> None:
    of_this_user().reads(time.time(), turn())


def of_this_user() -> RequestEvents:
    """The events of the greenlet that runs now."""
    greenlet = getcurrent()
    events: RequestEvents | None = getattr(greenlet, "request_events", None)
    if events is None:
        events = greenlet.request_events = RequestEvents()
    return events


def turn() -> int:
    """How often the event loop of this thread has waited; 0 where it does not count (libuv)."""
    return int(getattr(get_hub().loop, "iteration", 0))


def fired(name: str, response_ms: float, start_time: object) -> list[str]:
    """Names of events of this user that are no requests, as far as they are known now. To be called in a listener of Locust's
    request event itself. `start_time`: as it was passed to the event (`time.time`); None: it was not.
    """
    now_s = time.time()
    began_s = start_time if isinstance(start_time, float) else now_s - response_ms / 1000
    if _is_of_client(sys._getframe(1)):
        return of_this_user().of_client(began_s, now_s, turn())
    return of_this_user().of_user_code(name, began_s if response_ms else now_s, now_s, turn())


def _is_of_client(listener: FrameType) -> bool:
    """Whether the code of a client fired the event: what called `fire`, which called the listener."""
    fire = listener.f_back
    caller = fire.f_back if fire is not None else None
    return caller is not None and caller.f_globals.get("__name__") in _CLIENTS

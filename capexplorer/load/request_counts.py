"""Requests as the clients count them, where they start and end: started = succeeded + failed + abandoned + in flight.

A check of the requests that are reported one by one. Of each process; the log has it as `clients` of each sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .user_code import UserCodeFault


@dataclass(slots=True)
class RequestCounts:
    """Requests of this process, since its beginning. Redirects and repeated attempts belong to the request that led to them."""

    started: int = 0
    reported: int = 0
    """Ended as a success or a failure."""
    abandoned: int = 0
    """Without a result: the user was stopped, or user code left the with-block early (`endings.LEAVING`) or never entered it."""
    on_dropped: Callable[[UserCodeFault], None] = lambda fault: None
    """Called for each request whose with-block user code never entered."""


request_counts = RequestCounts()
"""Written in the load thread."""


@contextmanager
def uncounted() -> Iterator[None]:
    """A context for requests that are not those of users."""
    before = request_counts.started, request_counts.reported, request_counts.abandoned
    try:
        yield
    finally:
        request_counts.started, request_counts.reported, request_counts.abandoned = before


def drop() -> None:
    """Count a request whose with-block user code never entered. In any thread: the garbage collector finds some of them."""
    request_counts.abandoned += 1
    request_counts.on_dropped(UserCodeFault("catch_response=True without a with-block: the request counts as no result"))

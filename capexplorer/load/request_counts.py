"""Requests as the clients count them, where they start and end: started = succeeded + failed + abandoned + in flight.

A check of the requests that are reported one by one. Of each process; the log has it as `clients` of each sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from gevent import getcurrent

from ..model.events import FailureSignature
from .signature import links


class RequestCounts(msgspec.Struct):
    """Requests of this process, since its beginning. Redirects and repeated attempts belong to the request that led to them."""

    started: int = 0
    reported: int = 0
    """Ended as a success or a failure."""
    abandoned: int = 0
    """Without a result: the user was stopped, or user code left the with-block early (`bodies.LEAVING`) or never entered it."""
    dropped: int = 0
    """Those of the abandoned requests whose with-block user code never entered."""


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
    request_counts.dropped += 1


# -- attempts ------------------------------------------------------------------------------------------------------------------
# Attempts that a client repeats by itself: counted below its retry logic, which stays unchanged.
#
# FastHttpUser tries an idempotent request on a closed connection up to 12 times: a server that resets every fourth connection
# gave 193 requests and no failure. HttpUser repeats nothing unless a locustfile mounts an adapter that does. Both clients decide
# on a retry in a function that they call only after a failure, which `hooks/client_results.py` hooks: a success costs nothing
# more.
#
# Not seen: what FastHttpUser repeats while it waits for `100 Continue`.


ATTEMPTS_MOST = 100
"""Maximum number of attempts kept for one greenlet between two requests that Locust reports; some clients report none."""

Attempt = tuple[BaseException | None, FailureSignature]
"""The exception (None if there was none) and its signature."""


def attempts_of_request(exception: object, response: object = None) -> tuple[FailureSignature, ...]:
    """Attempts of this greenlet's last request that were repeated, without the final one."""
    noted: list[Attempt] | None = getcurrent().__dict__.pop("attempts", None)
    if not noted:
        return ()
    final = {id(link) for link in links(exception, getattr(response, "error", None))}
    return tuple(signature for error, signature in noted if error is None or id(error) not in final)


def note_attempt(error: BaseException | None, signature: FailureSignature) -> None:
    """This greenlet's request is repeated after this exception."""
    noted: list[Attempt] = getcurrent().__dict__.setdefault("attempts", [])
    if len(noted) < ATTEMPTS_MOST:
        noted.append((error, signature))

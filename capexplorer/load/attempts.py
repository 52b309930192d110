"""Attempts that a client repeats by itself: counted below its retry logic, which stays unchanged.

FastHttpUser tries an idempotent request on a closed connection up to 12 times: a server that resets every fourth connection gave
193 requests and no failure. HttpUser repeats nothing unless a locustfile mounts an adapter that does. Both clients decide on a
retry in a function that they call only after a failure, which `hooks/client_results.py` hooks: a success costs nothing more.

Not seen: what FastHttpUser repeats while it waits for `100 Continue`.
"""

from __future__ import annotations

from gevent import getcurrent

from ..model.events import FailureSignature
from .signature import links

ATTEMPTS_MOST = 100
"""Maximum number of attempts kept for one greenlet between two requests that Locust reports; some clients report none."""

Attempt = tuple[BaseException | None, FailureSignature]
"""The exception (None if there was none) and its signature."""


def of_request(exception: object, response: object = None) -> tuple[FailureSignature, ...]:
    """Attempts of this greenlet's last request that were repeated, without the final one."""
    noted: list[Attempt] | None = getcurrent().__dict__.pop("attempts", None)
    if not noted:
        return ()
    final = {id(link) for link in links(exception, getattr(response, "error", None))}
    return tuple(signature for error, signature in noted if error is None or id(error) not in final)


def note(error: BaseException | None, signature: FailureSignature) -> None:
    """This greenlet's request is repeated after this exception."""
    noted: list[Attempt] = getcurrent().__dict__.setdefault("attempts", [])
    if len(noted) < ATTEMPTS_MOST:
        noted.append((error, signature))

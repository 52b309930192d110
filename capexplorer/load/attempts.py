"""Attempts that a client repeats by itself: counted below its retry logic, which stays unchanged.

FastHttpUser tries an idempotent request on a closed connection up to 12 times: a server that resets every fourth connection gave
193 requests and no failure. HttpUser repeats nothing unless a locustfile mounts an adapter that does. Both clients decide on a
retry in a function that they call only after a failure. That function is hooked, so a successful request costs nothing more.

Not seen: what FastHttpUser repeats while it waits for `100 Continue`.
"""

from __future__ import annotations

import sys
from typing import Any

import geventhttpclient.client
import geventhttpclient.useragent
import urllib3.util.retry
from gevent import getcurrent

from ..model.events import FailureSignature
from .signature import links, signature_of

ATTEMPTS_MOST = 100
"""Maximum number of attempts kept for one greenlet between two requests that Locust reports; some clients report none."""

Attempt = tuple[BaseException | None, FailureSignature]
"""The exception (None if there was none) and its signature."""


def install() -> None:
    """Hook the retry decisions of both clients. Call once per process."""
    _observe_resends()
    _observe_retries()
    _observe_urllib3()


def of_request(exception: object, response: object = None) -> tuple[FailureSignature, ...]:
    """Attempts of this greenlet's last request that were repeated, without the final one."""
    noted: list[Attempt] | None = getcurrent().__dict__.pop("attempts", None)
    if not noted:
        return ()
    final = {id(link) for link in links(exception, getattr(response, "error", None))}
    return tuple(signature for error, signature in noted if error is None or id(error) not in final)


def _note(error: BaseException | None, signature: FailureSignature) -> None:
    noted: list[Attempt] = getcurrent().__dict__.setdefault("attempts", [])
    if len(noted) < ATTEMPTS_MOST:
        noted.append((error, signature))


def _observe_resends() -> None:
    """geventhttpclient calls this after a closed connection raised."""
    client: Any = geventhttpclient.client
    may_resend = client._may_retry_after_send_error

    def noting_may_resend(method: str) -> bool:
        resends: bool = may_resend(method)
        error = sys.exc_info()[1]
        if resends and error is not None:
            _note(error, signature_of(error))
        return resends

    client._may_retry_after_send_error = noting_may_resend


def _observe_retries() -> None:
    """`max_retries` of a FastHttpUser, 0 unless a locustfile sets it: raises the errors that are not to be repeated."""
    agent: Any = geventhttpclient.useragent.UserAgent
    handle = agent._handle_error

    def noting_handle(self: Any, error: BaseException, url: Any = None) -> BaseException:
        repeated: BaseException = handle(self, error, url=url)
        _note(error, signature_of(error))
        return repeated

    agent._handle_error = noting_handle


def _observe_urllib3() -> None:
    """`Retry` of an adapter that a locustfile mounts: this raises where no retry is left, and is called for redirects, too."""
    retry: Any = urllib3.util.retry.Retry
    increment = retry.increment

    def noting_increment(
        self: Any, method: Any = None, url: Any = None, response: Any = None, error: Any = None, *rest: Any, **named: Any
    ) -> Any:
        left = increment(self, method, url, response, error, *rest, **named)
        if error is not None:
            _note(error, signature_of(error))
        elif response is not None and response.status >= 400:
            _note(None, FailureSignature(types=("Retry",), status=response.status))
        return left

    retry.increment = noting_increment

"""A trace for each request (`run --traceparent`): the header of W3C's Trace Context, by which services that record traces take
the request for the child of a sampled span. A request that has the header already keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from msgspec.structs import replace

from ..lean.prepared import Prepared

HEADER = "traceparent"

_random_bits = Random().getrandbits
"""Of a generator of its own: user code may seed that of `random`, and each of its users the same."""


def traceparent() -> str:
    """A random trace and a random span, sampled."""
    return f"00-{_random_bits(128):032x}-{_random_bits(64):016x}-01"


def _is_among(names: Iterable[str]) -> bool:
    for name in names:
        if len(name) == len(HEADER) and name.lower() == HEADER:
            return True
    return False


def traced_opening(urlopen: Callable[..., Any]) -> Callable[..., Any]:
    """FastHttpUser. Its redirects and retries have the same trace."""

    def opening(self: Any, url: Any, method: str = "GET", headers: Any = None, *rest: Any, **options: Any) -> Any:
        sent = {} if headers is None else dict(headers)
        if not _is_among(sent):
            sent[HEADER] = traceparent()
        return urlopen(self, url, method, sent, *rest, **options)

    return opening


def traced_preparing(prepare_request: Callable[..., Any]) -> Callable[..., Any]:
    """HttpUser. Its redirects and retries have the same trace."""

    def preparing(self: Any, request: Any) -> Any:
        prepared = prepare_request(self, request)
        prepared.headers.setdefault(HEADER, traceparent())
        return prepared

    return preparing


def traced_sending(send: Callable[..., Any]) -> Callable[..., Any]:
    """The lean client. Its redirects have the same trace."""

    def sending(
        self: Any, prepared: Prepared, name: str, catch_response: bool = False, context: Any = None, terms: Any = None
    ) -> Any:
        if not _is_among(prepared.fields):
            prepared = _traced(prepared, traceparent())
        return send(self, prepared, name, catch_response, context, terms)

    return sending


def _traced(request: Prepared, trace: str) -> Prepared:
    line_end = request.data.index(b"\r\n")
    data = b"%b\r\ntraceparent: %b%b" % (request.data[:line_end], trace.encode(), request.data[line_end:])
    return replace(request, data=data, fields={**request.fields, HEADER: trace})

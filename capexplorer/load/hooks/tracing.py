"""A trace for each request (`run --traceparent`): the header of W3C's Trace Context, by which services that record traces take
the request for the child of a sampled span. A request that has the header already keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from ..lean.prepared import Prepared

HEADER = "traceparent"

_random_bits = Random().getrandbits
"""Of a generator of its own: user code may seed that of `random`, and each of its users the same."""

_NOT_ZERO = 1 << 64 | 1
"""Zero is no valid id of a trace or of a span."""


def traceparent() -> str:
    """A random trace and a random span, sampled."""
    ids = f"{_random_bits(192) | _NOT_ZERO:048x}"
    return f"00-{ids[:32]}-{ids[32:]}-01"


def _is_among(names: Mapping[str, Any]) -> bool:
    return any(name.lower() == HEADER for name in names)


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

    def sending(self: Any, prepared: Prepared, *rest: Any, **options: Any) -> Any:
        return send(self, prepared if _is_among(prepared.fields) else _traced(prepared), *rest, **options)

    return sending


def _traced(prepared: Prepared) -> Prepared:
    found = traceparent()
    first, _, others = prepared.data.partition(b"\r\n")
    data = b"%b\r\n%b: %b\r\n%b" % (first, HEADER.encode(), found.encode(), others)
    return replace(prepared, data=data, fields={**prepared.fields, HEADER: found})

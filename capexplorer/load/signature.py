"""An exception reduced to what tells causes apart. Which cause it is, `analysis/causes.py` decides.

Breadth-first over everything an exception was made of: the first errno wins, then the status. Text is bounded and folded, since
Locust's own failure keys explode (a connect timeout carries a memory address: 85 keys in 3.5 s).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from ..model.events import FailureSignature

TEXT_LENGTH = 200
DEPTH = 16
"""Links followed at most: chains can be cyclic or endless."""

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_LONG_NUMBER = re.compile(r"\d{4,}")
_CHECK = re.compile(r"^(?P<check>[\w.-]{1,60}):\s")


def reduce(exception: BaseException | str) -> FailureSignature:
    """The signature of a failed request."""
    if not isinstance(exception, BaseException):
        return FailureSignature(types=("str",), text=fold(str(exception)))
    chain = list(links(exception))
    return FailureSignature(
        types=tuple(dict.fromkeys(type(link).__name__ for link in chain)),
        errno=next((number for link in chain if (number := _errno(link)) is not None), None),
        status=next((status for link in chain if (status := _status(link)) is not None), None),
        text=fold(text_of(exception)),
    )


def links(exception: BaseException) -> Iterator[BaseException]:
    """The exception and all it was made of, breadth-first, each once."""
    waiting: deque[object] = deque([exception])
    seen: set[int] = set()
    while waiting and len(seen) < DEPTH:
        link = waiting.popleft()
        if not isinstance(link, BaseException) or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        waiting.extend(
            (link.__cause__, link.__context__, getattr(link, "reason", None), getattr(link, "original", None), *link.args)
        )


def text_of(exception: BaseException) -> str:
    """The message. A `catch_response` text `check: what was seen` is grouped by what stands before the colon."""
    try:
        text = str(exception) or repr(exception)
    except Exception:  # user code may raise what cannot tell itself; the request still counts
        return type(exception).__name__
    if type(exception).__name__ == "CatchResponseError" and (found := _CHECK.match(text)):
        return found["check"]
    return text


def fold(text: str) -> str:
    """Bounded, on one line, without addresses and long numbers."""
    return _LONG_NUMBER.sub("#", _ADDRESS.sub("0x", " ".join(text[: TEXT_LENGTH * 4].split())))[:TEXT_LENGTH]


def _errno(link: BaseException) -> int | None:
    number = getattr(link, "errno", None)
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _status(link: BaseException) -> int | None:
    for status in (getattr(link, "code", None), getattr(getattr(link, "response", None), "status_code", None)):
        if isinstance(status, int) and 100 <= status <= 599:
            return status
    return None

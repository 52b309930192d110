"""A HAR file (a recording of a browser or a proxy) as requests to one service. Sends nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec

from ..errors import InputError
from .request import Request, merged, request

_OF_THE_BROWSER = frozenset(("host", "user-agent", "accept-language", "origin"))


class _Header(msgspec.Struct):
    name: str
    value: str


class _PostData(msgspec.Struct):
    text: str = ""


class _Request(msgspec.Struct):
    method: str
    url: str
    headers: list[_Header] = []
    postData: _PostData | None = None  # noqa: N815 - the format's name


class _Entry(msgspec.Struct):
    request: _Request


class _Log(msgspec.Struct):
    entries: list[_Entry]


class _Har(msgspec.Struct):
    log: _Log


def parse(raw: Any, where: str, origin: str | None) -> list[Request]:
    """Requests to `origin`; None: to the origin with the most. Equal ones are one with their number as its weight.

    Raises InputError: not a HAR file, no request to the service.
    """
    try:
        har = msgspec.convert(raw, _Har)
    except msgspec.ValidationError as error:
        message = str(error)
        raise InputError(f"{where}: not a HAR file: {message[:1].lower()}{message[1:]}") from None
    found = [_request(entry.request, where, index) for index, entry in enumerate(har.log.entries)]
    if not found:
        raise InputError(f"{where}: log.entries: expected at least one request, got none")
    if origin is None:
        origin = Counter(each.origin for each in found).most_common(1)[0][0]
    ours = [each for each in found if each.origin == origin]
    if not ours:
        others = ", ".join(sorted({each.origin or "" for each in found})[:5])
        raise InputError(f"{where}: log.entries: expected requests to {origin}, got requests to {others}")
    return [replace(each, weight=min(each.weight, 10_000)) for each in merged(ours)]


def _request(sent: _Request, where: str, index: int) -> Request:
    headers = {header.name: header.value for header in sent.headers if header.name.lower() not in _OF_THE_BROWSER}
    body = sent.postData.text or None if sent.postData is not None else None
    return request(sent.method, sent.url, headers, body, f"{where}: log.entries[{index}].request")

"""nginx: connections by what they do, from the page of its stub_status module."""

from __future__ import annotations

import re

import httpx

from . import ANSWERED, TIMEOUT_S, ServerRefused, page
from .rate import Rates

_ACTIVE = re.compile(r"Active connections:\s*(\d+)")
_COUNTERS = re.compile(r"^\s*(\d+)\s+(\d+)\s+(\d+)\s*$", re.MULTILINE)
"""Accepted connections, handled ones, requests. Those not handled were closed since no worker_connections were left."""

_DOING = re.compile(r"(Reading|Writing|Waiting):\s*(\d+)")


class Nginx:
    """Its page, over one connection. If no worker_connections are left, nginx accepts a connection and closes it without an
    answer; if no descriptors are left, it accepts none, and the request times out."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = httpx.Client(timeout=TIMEOUT_S, trust_env=False)
        self._rates = Rates()
        self._has_answered = False

    def read(self) -> dict[str, float]:
        """Its figures now. Raises httpx.HTTPError; ValueError if the page is not one of stub_status; ServerRefused if a server
        that has answered before closes the connection."""
        try:
            text = page(self._client, self._url)
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            if self._has_answered:
                raise ServerRefused(str(error)) from error
            raise
        values, counters = figures(text)
        self._has_answered = True
        self._rates.tick()
        rates = {key: rate for name, count in counters.items() for key, rate in self._rates.of(name, count).items()}
        return ANSWERED | values | rates


def figures(text: str) -> tuple[dict[str, float], dict[str, float]]:
    """(values, counters): `connections`, `reading`, `writing`, `waiting`; `rejected_connections`, `requests`. Raises
    ValueError for any other page."""
    active, counters = _ACTIVE.search(text), _COUNTERS.search(text)
    if active is None or counters is None:
        raise ValueError("the page is not one of stub_status")
    accepted, handled, requests = map(float, counters.groups())
    doing = {name.lower(): float(count) for name, count in _DOING.findall(text)}
    return {"connections": float(active[1]), **doing}, {"rejected_connections": accepted - handled, "requests": requests}

"""nginx: connections by what they do, from the page of its stub_status module."""

from __future__ import annotations

import re

import httpx

from . import TIMEOUT_S

_ACTIVE = re.compile(r"Active connections:\s*(\d+)")
_DOING = re.compile(r"(Reading|Writing|Waiting):\s*(\d+)")


class Nginx:
    """Its page, over one connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = httpx.Client(timeout=TIMEOUT_S, trust_env=False)

    def read(self) -> dict[str, float]:
        """Its figures now. Raises httpx.HTTPError; ValueError where the page is another one."""
        response = self._client.get(self._url)
        response.raise_for_status()
        return figures(response.text)

    def close(self) -> None:
        """Give the connection back."""
        self._client.close()


def figures(page: str) -> dict[str, float]:
    """`connections`, `reading`, `writing`, `waiting`. ValueError: not a stub_status page."""
    active = _ACTIVE.search(page)
    if active is None:
        raise ValueError("the page is not one of stub_status")
    return {"connections": float(active[1]), **{name.lower(): float(count) for name, count in _DOING.findall(page)}}

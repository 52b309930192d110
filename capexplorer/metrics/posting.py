"""Requests to the receivers that the user has named."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx

from ..addresses import is_loopback

TIMEOUT_S = 5.0


class Client:
    """One receiver's connection. Errors say what happened, and never what was sent: headers have secrets."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """`url`: any of the receiver's; on this machine it is reached without the proxies of the environment."""
        is_here = is_loopback(urlsplit(url).hostname or "")
        self._client = httpx.Client(headers=dict(headers), timeout=TIMEOUT_S, trust_env=not is_here)

    def call(self, method: str, url: str, content: bytes | None = None) -> bytes:
        """The body of a reply that is a success. Raises OSError: there was none."""
        try:
            reply = self._client.request(method, url, content=content)
        except httpx.HTTPError as error:
            raise OSError(str(error) or type(error).__name__) from None
        if not reply.is_success:
            raise OSError(f"HTTP {reply.status_code} {_phrase(reply.status_code)}".rstrip())
        return reply.content

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""

"""Removes secrets from a request that is kept whole. Pure.

Values with the name of a secret are removed from headers, JSON, XML and multipart forms; from all other text, what has the form
of a secret (`redact`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from ..model.kept_request import Body, Headers, KeptRequest
from . import redact
from .redact import HIDDEN, is_secret_name

_XML = re.compile(r"<(?P<name>[\w.:\-]{1,100})(?P<attributes>[^<>]*)>(?P<value>[^<]*)(?=<|\Z)")
_PART = re.compile(r"form-data; name=\"(?P<name>[^\"\r\n]{1,100})\"[^\r\n]*(?:\r?\n[^\r\n]+){0,4}\r?\n\r?\n(?P<value>[^\r\n]*)")
"""A field of a multipart form."""
_SECRET_LEAST = 6
"""Least length of a known secret: a shorter one is also a part of harmless words."""


class RequestRedaction:
    """Removes secrets from requests. `known`: texts that are secret everywhere, such as a profile's environment variables."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._known = sorted({each for each in known if len(each) >= _SECRET_LEAST}, key=len, reverse=True)

    def __call__(self, request: KeptRequest) -> KeptRequest:
        """The request without secrets."""
        brief = msgspec.structs.replace(
            request.brief,
            method=self._text(request.brief.method),
            name=self._text(request.brief.name),
            error=self._text(request.brief.error),
            kind=self._text(request.brief.kind),
        )
        return msgspec.structs.replace(
            request,
            brief=brief,
            url=self._text(request.url),
            sent_headers=self._headers(request.sent_headers),
            sent=self._body(request.sent),
            headers=self._headers(request.headers),
            received=self._body(request.received),
        )

    def _headers(self, headers: Headers) -> Headers:
        return tuple((self._text(name), HIDDEN if is_secret_name(name) else self._text(value)) for name, value in headers)

    def _body(self, body: Body) -> Body:
        if not body.text:
            return body
        text = None if body.is_cut else _of_json(self._without_known(body.text))
        if text is None:
            text = self._text(_ended(body.text) if body.is_cut else body.text)
        return msgspec.structs.replace(body, text=_utf8(text))

    def _text(self, text: str) -> str:
        text = self._without_known(text)
        if "<" in text:
            text = _XML.sub(_hide, text)
        if "form-data" in text:
            text = _PART.sub(_hide, text)
        return _utf8(redact.text(text))

    def _without_known(self, text: str) -> str:
        for each in self._known:
            text = text.replace(each, HIDDEN)
        return text


def _of_json(text: str) -> str | None:
    """A JSON object or list without its secrets; None if the text is not JSON, or nested too deeply."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.dumps(redact.nested(json.loads(text)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _utf8(text: str) -> str:
    """The text without lone surrogates, which JSON can escape but UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _ended(text: str) -> str:
    """The text shortened to the end of a word outside quotes and tags, so that its end is no part of a secret, which would not be
    recognised.
    """
    end = max(text.rfind(sign) for sign in " \t\r\n,;&>}")
    text = text[: end + 1]
    if text.count('"') % 2:
        text = text[: text.rindex('"')]
    last_tag = text.rfind(">")
    return text[: last_tag + 1] if last_tag >= 0 and text.lstrip().startswith("<") else text


def _hide(found: re.Match[str]) -> str:
    if not found["value"].strip() or not is_secret_name(found["name"]):
        return found[0]
    return found[0][: found.start("value") - found.start()] + HIDDEN

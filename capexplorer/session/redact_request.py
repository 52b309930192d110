"""Removes secrets from a request that is kept whole. Pure.

Values with the name of a secret are removed from headers, JSON, XML and multipart forms; from all other text, what has the form
of a secret (`redact`).
"""

from __future__ import annotations

import json
import re

import msgspec

from ..model import outside
from ..model.kept_request import Body, Headers, KeptRequest
from . import redact
from .redact import HIDDEN, hide_of_field, is_secret_name

_PART = re.compile(r"form-data; name=\"(?P<name>[^\"\r\n]{1,100})\"[^\r\n]*(?:\r?\n[^\r\n]+){0,4}\r?\n\r?\n(?P<value>[^\r\n]*)")
"""A field of a multipart form."""


def without_secrets(request: KeptRequest) -> KeptRequest:
    """The request without secrets."""
    brief = msgspec.structs.replace(
        request.brief,
        method=_text(request.brief.method),
        name=_text(request.brief.name),
        error=_text(request.brief.error),
        kind=_text(request.brief.kind),
    )
    return msgspec.structs.replace(
        request,
        brief=brief,
        url=_text(request.url),
        sent_headers=_headers(request.sent_headers),
        sent=_body(request.sent),
        headers=_headers(request.headers),
        received=_body(request.received),
    )


def _headers(headers: Headers) -> Headers:
    return tuple((_text(name), HIDDEN if is_secret_name(name) else _text(value)) for name, value in headers)


def _body(body: Body) -> Body:
    if not body.text:
        return body
    text = None if body.is_cut else _of_json(redact.without_known(body.text))
    if text is None:
        text = _text(_ended(body.text) if body.is_cut else body.text)
    return msgspec.structs.replace(body, text=outside.utf8(text))


def _text(text: str) -> str:
    text = redact.without_known(text)
    if "form-data" in text:
        text = _PART.sub(hide_of_field, text)
    return outside.utf8(redact.text(text))


def _of_json(text: str) -> str | None:
    """A JSON object or list without its secrets; None if the text is not JSON, or nested too deeply."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.dumps(redact.nested(json.loads(text)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


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

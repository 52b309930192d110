"""What a reply with an error says: the first line of its body with words in it, bounded, without ids. Foreign text.

Only a body that the client has already read is examined; a streamed body belongs to the user code.
"""

from __future__ import annotations

import re

BODY_MOST_BYTES = 4_096
"""Bytes of the body that are searched: error pages name the error in their first lines."""

LENGTH_MOST = 120

CLIENT_ERROR, SERVER_ERROR = 400, 500
"""Statuses from here on are errors, and the service's own errors."""

_TAG = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")
_OPAQUE = re.compile(r"[\w+/=.~-]{24,}|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{12,}")
"""Tokens, digests, ids: long words, or shorter ones of letters and digits."""
_MESSAGE = re.compile(r'"(?:error|message|msg|detail|details|title|reason|error_description)"\s*:\s*"(?P<text>[^"\\]{3,})"')
"""Where JSON has its message, by the names of common frameworks and of RFC 9457."""
_ENDS = re.compile(r"[\s,;&\"'<>]")
"""What ends a word: a line is cut there, never within what may be a secret."""


def first_line(response: object) -> str:
    """`sorry, too many clients already`; empty without a server error, and where the body says nothing or was not read."""
    return _line(_text(response, SERVER_ERROR))


def message(response: object) -> str:
    """`503: upstream pool exhausted`: the status of any error, and what its body says, of JSON the message alone."""
    text = _text(response, CLIENT_ERROR)
    found = _MESSAGE.search(text)
    line = _line(text if found is None else found["text"])
    return f"{getattr(response, 'status_code', '')}: {line}" if line else ""


def _text(response: object, least: int) -> str:
    status = getattr(response, "status_code", None)
    return _read(response)[:BODY_MOST_BYTES].decode(errors="replace") if isinstance(status, int) and status >= least else ""


def _line(text: str) -> str:
    text = _TAG.sub("\n", text)
    line = next((" ".join(line.split()) for line in text.splitlines() if _WORD.search(line)), "")
    return _cut(_OPAQUE.sub("#", line))


def _read(response: object) -> bytes:
    """The body as far as the client holds it: of requests `_content`, of geventhttpclient `_cached_content`."""
    held = (getattr(response, name, None) for name in ("_content", "_cached_content"))
    return next((body for body in held if isinstance(body, bytes)), b"")


def _cut(line: str) -> str:
    if len(line) <= LENGTH_MOST:
        return line
    ends = [found.start() for found in _ENDS.finditer(line, 0, LENGTH_MOST)]
    cut = line[: ends[-1]] if ends else ""
    return cut[: cut.rindex('"')] if cut.count('"') % 2 else cut  # an open quote may hold the beginning of a secret

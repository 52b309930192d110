"""The message of a reply with a server error: the first line of its body with words in it, bounded, without ids. Foreign text.

Only a body that the client has already read is examined; a streamed body belongs to the user code.
"""

from __future__ import annotations

import re

BODY_MOST_BYTES = 4_096
"""Bytes of the body that are searched: error pages name the error in their first lines."""

LENGTH_MOST = 120

SERVER_ERROR = 500
"""Statuses from here on are the service's own errors."""

_TAG = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")
_OPAQUE = re.compile(r"[\w+/=.~-]{24,}|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{12,}")
"""Tokens, digests, ids: long words, or shorter ones of letters and digits."""
_ENDS = re.compile(r"[\s,;&\"'<>]")
"""What ends a word: a line is cut there, never within what may be a secret."""


def first_line(response: object) -> str:
    """`sorry, too many clients already`; empty for other replies, and where the body says nothing or was not read."""
    status = getattr(response, "status_code", None)
    if not isinstance(status, int) or status < SERVER_ERROR:
        return ""
    body = _read(response)
    if not body:
        return ""
    text = _TAG.sub("\n", body[:BODY_MOST_BYTES].decode(errors="replace"))
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

"""The error message in a reply's body: its first line with words in it, bounded in length and without ids. Untrusted text.

Only a body that the client has already read is examined; a streamed body belongs to the user code.
"""

from __future__ import annotations

import re

BODY_MOST_BYTES = 4_096
"""Bytes of the body that are searched: error pages name the error in their first lines."""

LENGTH_MOST = 120

CLIENT_ERROR, SERVER_ERROR = 400, 500
"""The lowest statuses of errors, and of errors of the service."""

_TAG = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")
_OPAQUE = re.compile(r"[\w+/=.~-]{24,}|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{12,}")
"""Tokens, digests, ids: long words, or shorter ones of letters and digits."""
_MESSAGE = re.compile(r'"(?:error|message|msg|detail|details|title|reason|error_description)"\s*:\s*"(?P<text>[^"\\]{3,})"')
"""The field of a JSON body that has the message, by the names of common frameworks and of RFC 9457."""
_ENDS = re.compile(r"[\s,;&\"'<>]")
"""Ends of words: a line is cut only there, so that no part of a secret remains."""


def first_line(response: object) -> str:
    """`sorry, too many clients already`. Empty without a server error, or if the body has no words or was not read."""
    return _line(_text(response, SERVER_ERROR))


def message(response: object) -> str:
    """`503: upstream pool exhausted`: the status of an error and its body's first line, or the message field of a JSON body."""
    text = _text(response, CLIENT_ERROR)
    found = _MESSAGE.search(text)
    line = _line(text if found is None else found["text"])
    return f"{getattr(response, 'status_code', '')}: {line}" if line else ""


def _text(response: object, least: int) -> str:
    status = getattr(response, "status_code", None)
    return (
        body_if_read(response)[:BODY_MOST_BYTES].decode(errors="replace") if isinstance(status, int) and status >= least else ""
    )


def _line(text: str) -> str:
    text = _TAG.sub("\n", text)
    line = next((" ".join(line.split()) for line in text.splitlines() if _WORD.search(line)), "")
    return _cut(_OPAQUE.sub("#", line))


def body_if_read(response: object) -> bytes:
    """The body if the client has read it: `_content` of requests, `_cached_content` of geventhttpclient and the lean client."""
    bodies = (getattr(response, "_content", None), getattr(response, "_cached_content", None))
    return next((body for body in bodies if isinstance(body, bytes)), b"")


def _cut(line: str) -> str:
    if len(line) <= LENGTH_MOST:
        return line
    ends = [found.start() for found in _ENDS.finditer(line, 0, LENGTH_MOST)]
    cut = line[: ends[-1]] if ends else ""
    return cut[: cut.rindex('"')] if cut.count('"') % 2 else cut  # an open quote may hold the beginning of a secret

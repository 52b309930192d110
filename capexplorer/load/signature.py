"""An exception reduced to what distinguishes causes. `analysis/causes/classify.py` decides on the cause.

A breadth-first walk over the exception's chain and arguments: the first errno wins, then the status. Text is bounded and folded,
since Locust's own failure keys explode (a connect timeout carries a memory address: 85 keys in 3.5 s).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..model import outside
from ..model.events import CODE, FailureSignature
from .connections import past_of
from .protocol_codes import code_of, errno_in_text, words_of

# -- reply line ----------------------------------------------------------------------------------------------------------------
# The error message in a reply's body: its first line with words in it, bounded in length and without ids. Untrusted text.
#
# Only a body that the client has already read is examined; a streamed body belongs to the user code.


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


TEXT_LENGTH = 200
TYPES = 8
"""Type names kept: real chains have five at most."""
DEPTH = 16
"""Links followed at most: chains can be cyclic or endless."""

_CHECK = re.compile(r"^(?P<check>[\w.-]{1,60}):\s")
_NAME = re.compile(r"[\w.-]{1,60}")
"""A text that is only the name of a check."""
_STATUS_TEXT = re.compile(r"too many open files|no space left on device", re.IGNORECASE)
"""Messages of a target within a reply that are kept next to the name of the failed check."""
_URL = re.compile(r"(^URL \S+: ?| for url: .*$)|\b\w{2,10}://[^\s\x22<>]+")  # \x22: a quotation mark ends a quoted URL
_POOL = re.compile(r"^\w+Pool\(host=[^)]*\): ")
_VARYING = re.compile(
    r"""
      (?P<kept>\b\d{1,3}(?:\.\d{1,3}){3}\b              # an IPv4 address stays, and so does a status
              |\b(?:status|code|HTTP(?:/[\d.]+)?)\W{1,3}[1-5]\d\d\b)
    | 0x[0-9a-f]+                                        # a memory address
    | \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b    # a UUID
    | \b(?=[a-f]*\d)[0-9a-f]{8,}\b                       # hex
    | \d+(?:\.\d+)?
    """,
    re.VERBOSE | re.IGNORECASE,
)


def signature_of(exception: BaseException | str, response: object = None) -> FailureSignature:
    """The signature of a failed request. `response`: its reply, from which the status is read if a check of user code failed
    it.
    """
    if not isinstance(exception, BaseException):
        return FailureSignature(types=("str",), text=fold(_checked(exception)))
    checked = _is_check(exception)
    response_error = _attribute(response, "error") if checked else None
    chain = list(links(exception, response_error))
    status = next((status for link in chain if (status := _status(link)) is not None), None)
    if status is None and checked:
        status = _status_code(response)
    errno_link = next((link for link in chain if _errno(link) is not None), None)
    text = _coded(chain, response, text_of(exception if errno_link is None else errno_link))
    past = past_of(chain)
    reply_text = "" if checked or errno_link is not None else _reply_text(chain, response)
    return FailureSignature(
        types=tuple(dict.fromkeys(type(link).__name__[:60] for link in chain))[:TYPES],
        errno=_errno(errno_link) if errno_link is not None else errno_in_text(chain),
        status=status,
        text=f"{fold(text, status)}: {fold(reply_text, status)}"[:TEXT_LENGTH] if reply_text else fold(text, status),
        reused=past.reused,
        after_status=past.after_status,
    )


def full_text(exception: BaseException | str, response: object = None) -> str:
    """One failure in full, for a person: `lost_updates: expected 90, read 60`, `[Errno 99] Cannot assign requested address`,
    `503: upstream pool exhausted`.

    On one line, at most 200 characters, without URLs, which may contain secrets.
    """
    if not isinstance(exception, BaseException):
        return _one_line(exception)
    response_error = _attribute(response, "error")
    numbered = next((link for link in links(exception, response_error) if _errno(link) is not None), None)
    named = _unwrapped(exception) if numbered is None else numbered
    try:
        text = words_of(named) or str(named) or repr(named)
    except Exception:  # str() of a user's exception may fail
        return type(named).__name__
    if numbered is not None:
        return _one_line(text if text.startswith("[") else f"[Errno {_errno(numbered)}] {text}")
    text = _coded(list(links(exception)), response, text)
    if (_is_check(exception) and not _NAME.fullmatch(text)) or CODE.match(text):
        return _one_line(text)  # the check's text has its finding
    reply_text = _reply_text(links(exception), response, message)
    if reply_text and _is_check(exception):
        reply_text = f"{text}: {reply_text}"
    return _one_line(reply_text or text)


def _reply_text(chain: Iterable[BaseException], response: object, words: Callable[[object], str] = first_line) -> str:
    """The error message in the failed reply's body."""
    replies = (response, *(_attribute(link, "response") for link in chain))
    return next((reply_text for reply in replies if (reply_text := words(reply))), "")


def links(*exceptions: object) -> Iterator[BaseException]:
    """The exceptions with their causes, contexts and arguments, breadth-first, each once."""
    waiting: deque[object] = deque(exceptions)
    seen: set[int] = set()
    while waiting and len(seen) < DEPTH:
        link = waiting.popleft()
        if not isinstance(link, BaseException) or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        context = None if _status(link) else link.__context__  # after a reply the context is unrelated to the failure
        waiting.extend((link.__cause__, context, _attribute(link, "reason"), _attribute(link, "original"), *link.args))


def text_of(exception: BaseException) -> str:
    """The message of the innermost exception, or the name of a check, without parts that vary between requests."""
    inner = _unwrapped(exception)
    try:
        text = str(_attribute(inner, "strerror") or _first(inner) or words_of(inner) or inner) or repr(inner)
    except Exception:  # str() of a user's exception may fail; the request still counts
        return type(inner).__name__
    return _checked(text) if type(inner).__name__ == "CatchResponseError" else text


def _coded(chain: Sequence[BaseException], response: object, text: str) -> str:
    """The text with the code of a protocol in front, if one says why the request failed."""
    code = code_of(chain, response)
    return f"{code}: {text.partition(chr(10))[0]}" if code else text  # the other lines of a database have values of rows


def _is_check(exception: BaseException) -> bool:
    """Whether user code rejected the reply, in its own words."""
    return type(exception).__name__ in ("CatchResponseError", "ResponseError")


def _unwrapped(exception: BaseException) -> BaseException:
    for _ in range(DEPTH):
        within = (_attribute(exception, "original"), _attribute(exception, "reason"), *exception.args)
        found = next((each for each in within if isinstance(each, BaseException)), None)
        if found is None:
            break
        exception = found
    return exception


def _first(exception: BaseException) -> str | None:
    """Of several arguments the first text (`HTTPParseError('Invalid EOF state', 14)`), unless it is a URL."""
    if len(exception.args) < 2 or isinstance(exception, OSError) or hasattr(exception, "url"):
        return None
    return next((each for each in exception.args if isinstance(each, str)), None)


def _checked(text: str) -> str:
    """`check: what was seen` is grouped by the part before the colon."""
    found = _CHECK.match(text)
    if found is None:
        return text
    reply_text = _STATUS_TEXT.search(text)
    return f"{found['check']}: {reply_text[0].lower()}" if reply_text else found["check"]


def fold(text: str, status: int | None = None) -> str:
    """The text on one line, bounded, without URLs, memory addresses, ids and numbers other than `status` and a code in front."""
    kept = "" if status is None else str(status)
    code = CODE.match(text)

    def replaced(found: re.Match[str]) -> str:
        return found[0] if found["kept"] or found[0] == kept else "#"

    front = code[0] if code else ""
    return front + _VARYING.sub(replaced, _without_urls(text[len(front) :]))[: TEXT_LENGTH - len(front)]


def _one_line(text: str) -> str:
    return _without_urls(text)[:TEXT_LENGTH]


def _without_urls(text: str) -> str:
    line = " ".join(outside.text(text, TEXT_LENGTH * 4).split())
    return _URL.sub(lambda url: "" if url[1] else "{url}", _POOL.sub("", line))


def _attribute(value: object, name: str) -> Any:
    """The attribute; None if there is none, or user code raises an exception for it."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


_OWN_NUMBERS = ("gaierror", "herror", "SSLError", "SSLCertVerificationError", "SSLEOFError", "SSLZeroReturnError")
"""Exceptions whose errno is not one of the operating system: resolvers and TLS libraries have numbers of their own."""


_ERRNO_MOST = 1 << 31


def _errno(link: BaseException) -> int | None:
    number = _attribute(link, "errno")
    if not isinstance(number, int) or isinstance(number, bool) or type(link).__name__ in _OWN_NUMBERS:
        return None
    return int(number) if abs(number) < _ERRNO_MOST else None


def _status(link: BaseException) -> int | None:
    return _in_range(_attribute(link, "code")) or _status_code(_attribute(link, "response")) or _status_code(link)


def _status_code(response: object) -> int | None:
    return _in_range(_attribute(response, "status_code"))


def _in_range(status: object) -> int | None:
    return status if isinstance(status, int) and 100 <= status <= 599 else None

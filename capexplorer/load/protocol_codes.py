"""How protocols other than HTTP say why a request failed, as the beginning of a failure's text: `SQLSTATE 53300: sorry, ...`.

Exceptions and replies are recognised by the package of their class: no library is imported here. `analysis/causes/classify.py`
has the cause of each code.
"""

from __future__ import annotations

import enum
import errno
import os
import re
from collections.abc import Callable, Iterable, Sequence

Code = Callable[[Sequence[BaseException], object], str]
"""The code of a failure by its exceptions, outermost first, and its reply; empty: it has none of this protocol."""


def code_of(chain: Sequence[BaseException], response: object) -> str:
    """`SQLSTATE 53300`, `Redis OOM`, `DNS SERVFAIL`; empty if no protocol says why the request failed."""
    return next((code for reader in READERS if (code := reader(chain, response))), "")


def _of(chain: Iterable[object], *packages: str) -> Iterable[object]:
    """Those whose class is of one of these packages."""
    return (each for each in chain if type(each).__module__.partition(".")[0] in packages)


# -- SQL. A refused connection has no SQLSTATE in libpq, only the server's words.

_DRIVERS = ("psycopg", "psycopg2", "asyncpg", "pg8000")

_WORDS = {
    "too many clients already": "53300",
    "remaining connection slots": "53300",
    "too many connections": "53300",
    "no more connections allowed": "53300",
    "the database system is": "57P03",
    "authentication failed": "28P01",
    "query_wait_timeout": "53400",
    "does not exist": "3D000",
}
"""Words of PostgreSQL and PgBouncer as they refuse a connection, and the SQLSTATE of each."""


def _sql(chain: Sequence[BaseException], response: object) -> str:
    for link in _of(chain, *_DRIVERS):
        state = getattr(link, "sqlstate", None) or getattr(link, "pgcode", None)
        if not isinstance(state, str) and "FATAL" in (text := str(link)):
            state = next((state for words, state in _WORDS.items() if words in text), None)
        if isinstance(state, str):
            return f"SQLSTATE {state}"
    return ""


_ERRNOS = {
    os.strerror(number): number
    for number in (errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH,
                   errno.EADDRNOTAVAIL, errno.EMFILE, errno.ENFILE, errno.EPIPE)
}  # fmt: skip
_ERRNO_TEXT = re.compile(f"(?:failed|from server|remote host|recvmsg|sendmsg): ?({'|'.join(map(re.escape, _ERRNOS))})")


def errno_in_text(chain: Iterable[object]) -> int | None:
    """The errno of a socket that libpq or gRPC has opened, which has only its text: `connection to server ... failed: Connection
    refused`."""
    found = (_ERRNO_TEXT.search(words_of(link) or str(link)) for link in _of(chain, *_DRIVERS, "grpc"))
    return next((_ERRNOS[text[1]] for text in found if text is not None), None)


# -- Redis: an error reply begins with its code, which the library may have cut off.

_REPLY_CODE = re.compile(r"[A-Z]{2,20}(?= )")


def _redis(chain: Sequence[BaseException], response: object) -> str:
    for link in _of(chain, "redis", "valkey"):
        text, kind = str(link), type(link).__name__
        if "max number of clients reached" in text:
            return "Redis MAXCLIENTS"
        if isinstance(code := getattr(link, "status_code", None), str):
            return f"Redis {code}"
        if kind == "ResponseError":
            found = _REPLY_CODE.match(text)
            return f"Redis {found[0] if found else 'ERR'}"
    return ""


# -- DNS: the code is in the reply, whose class dnspython makes; its exceptions name it in their text or type.

_RCODES = ("SERVFAIL", "REFUSED", "NXDOMAIN", "FORMERR", "NOTIMP")


def _dns(chain: Sequence[BaseException], response: object) -> str:
    for reply in _of((response,), "dns"):
        flags = getattr(reply, "flags", 0)
        code = _RCODE_NAMES.get(flags & 0xF, str(flags & 0xF))
        if code == "NOERROR":
            return "DNS TRUNCATED" if flags & _TRUNCATED else "" if getattr(reply, "answer", ()) else "DNS NODATA"
        return f"DNS {code}"
    for link in _of(chain, "dns"):
        kind, text = type(link).__name__, str(link)
        if kind in ("Truncated", "NXDOMAIN"):
            return f"DNS {kind.upper()}"
        if code := next((code for code in _RCODES if code in text), ""):
            return f"DNS {code}"
    return ""


_TRUNCATED = 0x0200
_RCODE_NAMES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}


# -- gRPC: an exception is also its call, and its own text is of many lines.

_DETAILS = {
    "errors resolving": "UNRESOLVED",
    "DNS resolution failed": "UNRESOLVED",
    "larger than max": "TOO_LARGE",
    "Exception serializing": "CLIENT",
    "Exception deserializing": "CLIENT",
    "Exception iterating requests": "CLIENT",
}
"""Words of the library about what no service has said, although it has the code of one; and what stands for the code."""


def _grpc(chain: Sequence[BaseException], response: object) -> str:
    for link in _of(chain, "grpc"):
        if errno_in_text([link]) is None and (status := getattr(_called(link, "code"), "name", "")):
            details = words_of(link)
            return f"gRPC {next((code for words, code in _DETAILS.items() if words in details), status)}"
    return ""


def words_of(exception: object) -> str:
    """The words of a gRPC failure alone; empty for other exceptions, whose own text has little more."""
    return str(next((_called(link, "details") for link in _of((exception,), "grpc")), "") or "")


def _called(link: object, name: str) -> object:
    method = getattr(link, name, None)
    return method() if callable(method) else None


# -- WebSocket: the close code. That of websocket-client is in its frame, which a locustfile reads.


def _websocket(chain: Sequence[BaseException], response: object) -> str:
    for link in _of(chain, "websockets", "simple_websocket"):
        code = getattr(getattr(link, "rcvd", None), "code", None) or getattr(link, "reason", None)
        if isinstance(code, int):
            return f"WebSocket {int(code)}"
    return ""


READERS: tuple[Code, ...] = (_sql, _redis, _dns, _grpc, _websocket)


# -- MQTT: `locust.contrib.mqtt` fires numbers and names in place of exceptions.

MQTT = "MQTT"
"""The method of its requests."""

_CONNACK = {
    1: "unacceptable protocol version", 2: "identifier rejected", 3: "server unavailable", 4: "bad user name or password",
    5: "not authorised",
}  # fmt: skip
_REASONS = {
    "Unspecified error": 128, "Client identifier not valid": 133, "Bad user name or password": 134, "Not authorized": 135,
    "Server unavailable": 136, "Server busy": 137, "Banned": 138, "Server shutting down": 139, "Receive maximum exceeded": 147,
    "Message rate too high": 150, "Quota exceeded": 151, "Connection rate exceeded": 159,
}  # fmt: skip
"""Reason codes of MQTT 5, by the names that paho gives them."""
_GRANTED = re.compile(r"during subscription: \[(?P<code>\d+)")


def as_failure(method: str, exception: object) -> BaseException | str:
    """What user code fired as `exception`: an exception as it is, anything else as a text. What MQTT reports has its code in
    front: `MQTT 5: not authorised`, `MQTT CONN_LOST`."""
    if method == MQTT:
        return _mqtt(exception) or (exception if isinstance(exception, BaseException) else str(exception))
    if isinstance(exception, BaseException | str):
        return exception
    return exception.name if isinstance(exception, enum.Enum) else str(exception)


def _mqtt(exception: object) -> str:
    text = str(exception)
    if isinstance(exception, enum.Enum):
        return f"MQTT {exception.name.removeprefix('MQTT_ERR_')}"
    if (value := getattr(exception, "value", None)) and isinstance(value, int):  # a reason code of MQTT 5
        return f"MQTT {value}: {text}"
    if text in _REASONS:
        return f"MQTT {_REASONS[text]}: {text}"
    if text.isdecimal() and int(text) in _CONNACK:
        return f"MQTT {text}: {_CONNACK[int(text)]}"
    granted = _GRANTED.search(text)
    return f"MQTT {granted['code']}: {text}" if granted else ""

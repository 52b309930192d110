"""The cause that one failed request indicates: a pure table from its signature to an id of the catalogue (docs/causes.md).

A protocol's own code decides, then the errno, the exception types, the status, the text of a check. Where one request does not
show the cause (which sockets use the ports, which process is out of descriptors), the result is a symptom: `resolve` maps it to
a cause.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...addresses import NOT_ALLOWED
from ...model.events import FailureSignature

_PORTS, _FDS, _SYSTEM_FDS = "ephemeral_port_exhaustion", "fd_exhaustion_generator", "fd_exhaustion_system"
_REFUSED, _RESET, _TIMED_OUT = "connection_refused", "connection_reset", "connect_timeout"
_NO_HOST, _NO_NETWORK, _NO_MEMORY, _NO_NAME = "host_unreachable", "network_unreachable", "tcp_memory_pressure", "dns_failure"

_UNIX = {12: _NO_MEMORY, 16: _NO_NAME, 23: _SYSTEM_FDS, 24: _FDS, 32: _RESET}
"""ENOMEM, EBUSY (of a resolver without descriptors), ENFILE, EMFILE, EPIPE."""

ERRNOS: dict[str, dict[int, str]] = {
    "Linux": {
        99: _PORTS, 98: _PORTS, 105: _NO_MEMORY, 111: _REFUSED, 104: _RESET, 103: _RESET, 107: _RESET, 108: _RESET,
        110: _TIMED_OUT, 113: _NO_HOST, 112: _NO_HOST, 101: _NO_NETWORK, 100: _NO_NETWORK, **_UNIX,
    },
    "Darwin": {
        49: _PORTS, 48: _PORTS, 55: _NO_MEMORY, 61: _REFUSED, 54: _RESET, 53: _RESET, 57: _RESET, 58: _RESET,
        60: _TIMED_OUT, 65: _NO_HOST, 64: _NO_HOST, 51: _NO_NETWORK, 50: _NO_NETWORK, **_UNIX,
    },
    "Windows": {
        10049: _PORTS, 10048: _PORTS, 10055: _PORTS, 10061: _REFUSED, 10054: _RESET, 10053: _RESET, 10057: _RESET, 10058: _RESET,
        10060: _TIMED_OUT, 10065: _NO_HOST, 10064: _NO_HOST, 10051: _NO_NETWORK, 10050: _NO_NETWORK, 10024: _FDS,
        11001: _NO_NAME, 11002: _NO_NAME, 11003: _NO_NAME, 11004: _NO_NAME, **_UNIX,
    },
}  # fmt: skip
"""By `platform.system()`: EADDRNOTAVAIL, EADDRINUSE, ENOBUFS (Windows: no port is left), ECONNREFUSED, ECONNRESET,
ECONNABORTED, ENOTCONN, ESHUTDOWN, ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, ENETDOWN."""

_ANYWHERE = {number: found for table in ERRNOS.values() for number, found in table.items()}
"""All tables in one, for a system that is not known: no number has two meanings in them."""

NAME_ERRORS = frozenset(("gaierror", "herror", "NameResolutionError"))
"""Exception types of a name that does not resolve."""

_TYPES: tuple[tuple[str, frozenset[str]], ...] = (
    ("body_too_large", frozenset(("BodyTooLarge",))),
    ("dns_failure", NAME_ERRORS),
    ("tls_certificate_error", frozenset(("SSLCertVerificationError", "CertificateError"))),
    ("tls_handshake_failure", frozenset(("SSLError", "SSLEOFError", "SSLZeroReturnError", "SSLSyscallError"))),
    (_REFUSED, frozenset(("ConnectionRefusedError",))),
    (_RESET, frozenset(("ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError", "WebSocketConnectionClosedException",
                       "DisconnectedError"))),
    (_TIMED_OUT, frozenset(("ConnectTimedOut", "ConnectTimeoutError", "ConnectTimeout", "ConnectionTimeout"))),
    ("read_timeout", frozenset(("ReadTimeoutError", "ReadTimeout", "TimeoutError", "timeout", "Timeout",
                                "WebSocketTimeoutException"))),
    ("closed", frozenset(("RemoteDisconnected", "HTTPConnectionClosed"))),
    ("incomplete_response", frozenset(("IncompleteRead",))),
    ("parsed", frozenset(("InvalidChunkLength", "HTTPParseError", "ChunkedEncodingError"))),
    (
        "malformed_response",
        frozenset(
            ("BadStatusLine", "LineTooLong", "UnknownProtocol", "HTTPProtocolViolationError", "HeaderParsingError",
             "ContentDecodingError", "DecodeError", "UnsupportedRedirectSchemeError",
             "UnusableReply", "error")
        ),
    ),
)  # fmt: skip
"""Tested in this order, types nearer to the socket first: TLS errors are OSErrors, and timeouts wrap one another. `error` is the
type of zlib. `closed` and `parsed` are no ids: `_by_type` replaces them by one that depends on more than the type."""

_CUT_SHORT = re.compile(
    r"incomplete response|invalid eof state|before end of the headers|after interim response|ended prematurely|got length b''",
    re.I,
)
_TLS_RECORD = "\\x15\\x03"
"""A TLS alert in place of the status line: the client spoke http to an https port."""

_STATUSES = {429: "rate_limited", 500: "server_error", 502: "bad_gateway", 503: "load_shedding", 504: "gateway_timeout"}

_SQL = {
    "53300": "too_many_connections", "53200": "server_out_of_memory", "53100": "disk_full", "53": "server_busy",
    "40P01": "deadlock", "40001": "serialization_failure", "55P03": "lock_timeout", "57014": "statement_timeout",
    "57P01": "server_not_ready", "57P02": "server_not_ready", "57P03": "server_not_ready", "28": "not_authorised",
    "58": "service_error", "XX": "service_error",
    **dict.fromkeys(("0A", "21", "22", "23", "25", "26", "34", "3D", "3F", "42", "44", "54", "P0"), "request_rejected"),
}  # fmt: skip
"""By SQLSTATE, or by its class: the first two characters."""
_REDIS = {
    "MAXCLIENTS": "too_many_connections", "OOM": "server_out_of_memory", "BUSY": "server_busy", "TRYAGAIN": "server_busy",
    "MISCONF": "service_error",
    **dict.fromkeys(("LOADING", "MASTERDOWN", "CLUSTERDOWN"), "server_not_ready"),
    **dict.fromkeys(("NOAUTH", "WRONGPASS", "NOPERM"), "not_authorised"),
    **dict.fromkeys(("ERR", "WRONGTYPE", "READONLY", "NOSCRIPT", "EXECABORT", "CROSSSLOT"), "request_rejected"),
}  # fmt: skip
_MQTT = {
    "CONN_LOST": _RESET, "NO_CONN": _RESET, "CONN_REFUSED": _REFUSED, "KEEPALIVE": "read_timeout",
    "128": "service_error", "3": "server_not_ready", "136": "server_not_ready", "139": "server_not_ready",
    **dict.fromkeys(("137", "147", "150", "151", "159"), "server_busy"),
    **dict.fromkeys(("4", "5", "134", "135", "138"), "not_authorised"),
    **dict.fromkeys(("1", "2", "133"), "request_rejected"),
}  # fmt: skip
"""By the code of a CONNACK of MQTT 3, a reason code of MQTT 5, or what paho says itself."""
_DNS = {
    "SERVFAIL": "service_error", "REFUSED": "not_authorised", "TRUNCATED": "truncated_reply",
    **dict.fromkeys(("NXDOMAIN", "NODATA", "FORMERR", "NOTIMP"), "request_rejected"),
}  # fmt: skip

_GRPC = {
    "RESOURCE_EXHAUSTED": "server_busy", "UNAVAILABLE": "service_unavailable", "DEADLINE_EXCEEDED": "read_timeout",
    "ABORTED": "serialization_failure", "UNRESOLVED": "dns_failure", "CLIENT": "user_code_error",
    **dict.fromkeys(("INTERNAL", "UNKNOWN", "DATA_LOSS"), "service_error"),
    **dict.fromkeys(("UNAUTHENTICATED", "PERMISSION_DENIED"), "not_authorised"),
    **dict.fromkeys(("INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED",
                     "TOO_LARGE"), "request_rejected"),
}  # fmt: skip

_WEBSOCKET = {
    "1001": "service_unavailable", "1012": "service_unavailable", "1011": "service_error", "1014": "service_error",
    "1013": "server_busy", "1015": "tls_handshake_failure", "3000": "not_authorised", "3003": "not_authorised",
    **dict.fromkeys(("1000", "1005", "1006"), _RESET),
    **dict.fromkeys(("1002", "1003", "1007", "1008", "1009", "1010"), "request_rejected"),
}  # fmt: skip
"""Close codes of RFC 6455 and of IANA's registry. A connection that is closed normally in place of a reply is one that broke."""

_GRAPHQL = {
    "INTERNAL_SERVER_ERROR": "service_error", "": "failed_check",
    **dict.fromkeys(("RATE_LIMITED", "THROTTLED", "TOO_MANY_REQUESTS"), "server_busy"),
    **dict.fromkeys(("UNAUTHENTICATED", "UNAUTHORIZED", "FORBIDDEN"), "not_authorised"),
    **dict.fromkeys(("GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED", "BAD_USER_INPUT", "BAD_REQUEST", "NOT_FOUND",
                     "PERSISTED_QUERY_NOT_FOUND", "OPERATION_RESOLUTION_FAILURE"), "request_rejected"),
}  # fmt: skip
"""No standard has these: they are Apollo's, Shopify's and GitHub's."""

CODES: dict[str, dict[str, str]] = {
    "SQLSTATE": _SQL, "Redis": _REDIS, "MQTT": _MQTT, "DNS": _DNS, "gRPC": _GRPC, "WebSocket": _WEBSOCKET, "GraphQL": _GRAPHQL,
}  # fmt: skip
"""By protocol and its code (`FailureSignature.code`); one that is not listed is what an empty code is, or `unknown`."""

_ENDED = re.compile(r"server closed the connection|connection (is|was|has been) (closed|lost)|connection (already )?closed", re.I)
"""Words of clients of databases about a connection that ended: psycopg, redis."""
_OF_DATABASES = frozenset(("OperationalError", "InterfaceError", "ConnectionError"))

CHECKS = frozenset(("CatchResponseError", "ResponseError", "AssertionError", "JSONDecodeError", "str"))
"""Exception types by which user code rejects a reply."""

_NAMED_CHECK = re.compile(r"[A-Za-z_][\w.-]{0,59}(?=$|: )")
"""The name of a check such as `lost_updates`: one word, alone or before a colon."""
_TASK_FAILED = re.compile(r"\W*(task|job)[\s_-]*(status\W*)?(is |has )?(failed|failure|error)", re.I)
_TASK_TIMEOUT = re.compile(r"\W*(task|job)[\s_-]*(status\W*)?(is |has )?(timeout|timed[\s_-]*out|not[\s_-]finished)", re.I)

_USER_CODE_ERRORS = frozenset(
    ("AttributeError", "IndexError", "InvalidHeader", "InvalidURL", "KeyError", "LocationParseError", "LocustError", "NameError",
     "NotImplementedError", "TypeError", "UnboundLocalError", "ZeroDivisionError")
)  # fmt: skip
"""Errors of user code: no reply of a service raises these."""

SAYS_NO_FDS = "too many open files"
"""Words by which a reply reports that the target is out of descriptors; `load.signature` keeps them."""


@lru_cache(maxsize=10_000)
def classify(signature: FailureSignature, system: str | None) -> str:
    """The id that this failure alone indicates: a cause, a symptom, or `unknown`. Kept, since failures repeat.

    `system`: `platform.system()` of the machine that recorded it. If it is None or not listed, every table is searched.
    """
    if "HostNotAllowed" in signature.types or NOT_ALLOWED in signature.text:  # psycopg keeps only the text
        return "host_not_allowed"
    return _by_code(signature) or _by_errno(signature, system) or _by_type(signature) or _by_status_and_check(signature)


def _by_code(signature: FailureSignature) -> str | None:
    if not signature.code:
        return None
    protocol, code = signature.code.split(" ")
    known = CODES.get(protocol, {})
    return known.get(code) or known.get(code[:2]) or known.get("", "unknown")


def _by_errno(signature: FailureSignature, system: str | None) -> str | None:
    if signature.errno is None:
        return None
    if NAME_ERRORS.intersection(signature.types) and signature.errno not in (23, 24):
        return None  # getaddrinfo has error numbers of its own: 12 on macOS is not ENOMEM
    found = ERRNOS.get(system or "", _ANYWHERE).get(signature.errno)
    return "read_timeout" if found == _TIMED_OUT and _READING.intersection(signature.types) else found


_READING = frozenset(("ReadTimeout", "ReadTimeoutError"))


def _by_type(signature: FailureSignature) -> str | None:
    found = next((found for found, types in _TYPES if types.intersection(signature.types)), None)
    if found == "closed":
        return "keepalive_race" if signature.reused else _RESET
    if found == "parsed":
        return "incomplete_response" if _CUT_SHORT.search(signature.text) else "malformed_response"
    if found == "malformed_response" and _TLS_RECORD in signature.text:
        return "tls_handshake_failure"
    return found


def _by_status_and_check(signature: FailureSignature) -> str:
    """A check with a name, or one about a task, decides; else the status does."""
    found = by_status(signature.status) if signature.status is not None else None
    if CHECKS.isdisjoint(signature.types):
        return found or _by_exception(signature)
    if signature.text.startswith("unexpected_status"):
        return found or "unexpected_status"
    if _TASK_TIMEOUT.match(signature.text):
        return "task_timeout"
    if _TASK_FAILED.match(signature.text) or SAYS_NO_FDS in signature.text.lower():
        return "task_failed_result"
    if found in (None, "unexpected_status") or _NAMED_CHECK.match(signature.text):
        return "failed_check"
    return found or "failed_check"


def by_status(status: int) -> str:
    """The id that a status by itself indicates."""
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= 500:
        return "server_error"
    return "client_error" if status >= 400 else "unexpected_status"


def _by_exception(signature: FailureSignature) -> str:
    # Only the outermost type: those deeper in the chain are a client library's own, which it catches.
    if signature.types[:1] and signature.types[0] in _USER_CODE_ERRORS:
        return "user_code_error"
    if not _OF_DATABASES.isdisjoint(signature.types) and _ENDED.search(signature.text):
        return _RESET
    return "unexpected_status" if "redirection limit" in signature.text.lower() else "unknown"

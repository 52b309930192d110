"""The codes by which services other than HTTP say why a request failed, and the cause of each. The classes are named as those of
the libraries, which need not be installed."""

from __future__ import annotations

import enum
import errno
from types import SimpleNamespace
from typing import Any

import pytest

from capexplorer.analysis.causes.classify import CODES, classify
from capexplorer.load.protocol_codes import as_failure
from capexplorer.load.signature import full_text, signature_of
from capexplorer.load.user_code import UserErrors
from capexplorer.model.catalogue import ENTRIES
from capexplorer.run.run_failures import cause_of


def raised(kind: str, text: str, module: str, **attributes: Any) -> BaseException:
    made: type[Exception] = type(kind, (Exception,), {"__module__": module, **attributes})
    return made(text)


def sql(kind: str, text: str, state: str | None = None) -> BaseException:
    return raised(kind, text, "psycopg.errors", sqlstate=state)


def refused(words: str) -> BaseException:
    return sql("OperationalError", f'connection failed: connection to server at "127.0.0.1", port 5432 failed: FATAL:  {words}')


def dns(rcode: int = 0, *, truncated: bool = False, answer: tuple[str, ...] = ()) -> Any:
    flags = 0x8180 | rcode | 0x0200 * truncated
    return type("Message", (SimpleNamespace,), {"__module__": "dns.message"})(flags=flags, answer=answer)


def grpc(status: str, details: str) -> BaseException:
    calls = {"code": lambda _: SimpleNamespace(name=status), "details": lambda _: details}
    return raised("_InactiveRpcError", f"<RPC that terminated with:\n\tstatus = {status}\n>", "grpc._channel", **calls)


def closed(code: int) -> BaseException:
    return raised("ConnectionClosedError", "received", "websockets.exceptions", rcvd=SimpleNamespace(code=code, reason="why"))


def checked(text: str) -> BaseException:
    return raised("CatchResponseError", text, "locust.exception")


REFUSED = "failed to connect to all addresses; last error: ipv4:127.0.0.1:1: Failed to connect to remote host: Connection refused"
NO_NAME = "errors resolving nosuchname:1: [field:hostname lookup error:address lookup failed: Domain name not found]"
LOST = raised("WebSocketConnectionClosedException", "Connection to remote host was lost.", "websocket._exceptions")
HANDSHAKE = raised("WebSocketBadStatusException", "Handshake status 503", "websocket._exceptions", status_code=503)

NO_ANSWER = raised("LocustError", "No answer in DNS response", "locust.exception")


class PahoError(enum.IntEnum):
    MQTT_ERR_CONN_LOST = 7


class ReasonCode:
    """As paho's: no number, with one."""

    value = 153

    def __str__(self) -> str:
        return "Payload format invalid"


@pytest.mark.parametrize(
    ("method", "exception", "reply", "code", "cause"),
    [
        ("SQL", refused("sorry, too many clients already"), None, "SQLSTATE 53300", "too_many_connections"),
        ("SQL", refused("no more connections allowed (max_client_conn)"), None, "SQLSTATE 53300", "too_many_connections"),
        ("SQL", refused("the database system is starting up"), None, "SQLSTATE 57P03", "server_not_ready"),
        ("SQL", refused("a sentence of another language"), None, "", "unknown"),
        ("SQL", sql("DeadlockDetected", "deadlock detected\nDETAIL: Process 7", "40P01"), None, "SQLSTATE 40P01", "deadlock"),
        ("SQL", sql("SerializationFailure", "could not serialize", "40001"), None, "SQLSTATE 40001", "serialization_failure"),
        ("SQL", sql("LockNotAvailable", "due to lock timeout", "55P03"), None, "SQLSTATE 55P03", "lock_timeout"),
        ("SQL", sql("QueryCanceled", "due to statement timeout", "57014"), None, "SQLSTATE 57014", "statement_timeout"),
        ("SQL", sql("UniqueViolation", "duplicate key", "23505"), None, "SQLSTATE 23505", "request_rejected"),
        ("SQL", sql("Unheard", "of another product", "HV000"), None, "SQLSTATE HV000", "unknown"),
        ("SQL", sql("OperationalError", "server closed the connection unexpectedly"), None, "", "connection_reset"),
        ("R", raised("ConnectionError", "max number of clients reached", "redis.exceptions"), None, "Redis MAXCLIENTS",
         "too_many_connections"),
        ("R", raised("OutOfMemoryError", "not allowed", "redis.exceptions", status_code="OOM"), None, "Redis OOM",
         "server_out_of_memory"),
        ("R", raised("ResponseError", "BUSY Redis is busy running", "redis.exceptions"), None, "Redis BUSY", "server_busy"),
        ("R", raised("BusyLoadingError", "is loading", "redis.exceptions", status_code="LOADING"), None, "Redis LOADING",
         "server_not_ready"),
        ("R", raised("ResponseError", "no such key", "redis.exceptions"), None, "Redis ERR", "request_rejected"),
        ("R", raised("ConnectionError", "Connection closed by server.", "redis.exceptions"), None, "", "connection_reset"),
        ("R", raised("ConnectionError", "of another kind", "redis.exceptions"), None, "", "unknown"),
        ("R", raised("TimeoutError", "Timeout reading from socket", "redis.exceptions"), None, "", "read_timeout"),
        ("MQTT", Exception("5"), None, "MQTT 5", "not_authorised"),
        ("MQTT", Exception("Server busy"), None, "MQTT 137", "server_busy"),
        ("MQTT", PahoError.MQTT_ERR_CONN_LOST, None, "MQTT CONN_LOST", "connection_reset"),
        ("MQTT", Exception("Quota exceeded"), None, "MQTT 151", "server_busy"),
        ("MQTT", ReasonCode(), None, "MQTT 153", "unknown"),
        ("MQTT", 17, None, "", "failed_check"),
        ("MQTT", AssertionError("an error response during subscription: [128]"), None, "MQTT 128", "service_error"),
        ("MQTT", AssertionError("my own check"), None, "", "failed_check"),
        ("DNS", NO_ANSWER, dns(2), "DNS SERVFAIL", "service_error"),
        ("DNS", NO_ANSWER, dns(3), "DNS NXDOMAIN", "request_rejected"),
        ("DNS", NO_ANSWER, dns(truncated=True), "DNS TRUNCATED", "truncated_reply"),
        ("DNS", NO_ANSWER, dns(), "DNS NODATA", "request_rejected"),
        ("DNS", NO_ANSWER, dns(9), "DNS 9", "unknown"),
        ("DNS", raised("ResponseError", "wrong_address", "users"), dns(answer=("192.0.2.1",)), "", "failed_check"),
        ("DNS", raised("NXDOMAIN", "no such name", "dns.resolver"), None, "DNS NXDOMAIN", "request_rejected"),
        ("DNS", raised("Truncated", "the flag is set", "dns.message"), None, "DNS TRUNCATED", "truncated_reply"),
        ("DNS", raised("NoNameservers", "127.0.0.1 answered SERVFAIL", "dns.resolver"), None, "DNS SERVFAIL", "service_error"),
        ("SQL", raised("DeadlockDetected", "deadlock", "psycopg2.errors", pgcode="40P01"), None, "SQLSTATE 40P01", "deadlock"),
        ("V", raised("ResponseError", "BUSY Valkey is busy", "valkey.exceptions"), None, "Redis BUSY", "server_busy"),
        ("GET", raised("ResponseError", "BUSY as can be", "users"), None, "", "failed_check"),
        ("GET", raised("Trouble", "SERVFAIL", "users"), None, "", "unknown"),
        ("DNS", raised("Timeout", "The DNS operation timed out.", "dns.exception"), None, "", "read_timeout"),
        ("gRPC", grpc("RESOURCE_EXHAUSTED", "queue is full"), None, "gRPC RESOURCE_EXHAUSTED", "server_busy"),
        ("gRPC", grpc("RESOURCE_EXHAUSTED", "larger than max (9 vs. 4)"), None, "gRPC TOO_LARGE", "request_rejected"),
        ("gRPC", grpc("UNAVAILABLE", "no healthy upstream"), None, "gRPC UNAVAILABLE", "service_unavailable"),
        ("gRPC", grpc("UNAVAILABLE", REFUSED), None, "", "connection_refused"),
        ("gRPC", grpc("UNAVAILABLE", "recvmsg:Connection reset by peer"), None, "", "connection_reset"),
        ("gRPC", grpc("UNAVAILABLE", NO_NAME), None, "gRPC UNRESOLVED", "dns_failure"),
        ("gRPC", grpc("DEADLINE_EXCEEDED", "Deadline Exceeded"), None, "gRPC DEADLINE_EXCEEDED", "read_timeout"),
        ("gRPC", grpc("UNKNOWN", "Exception calling application: 7"), None, "gRPC UNKNOWN", "service_error"),
        ("gRPC", grpc("INTERNAL", "Exception deserializing response!"), None, "gRPC CLIENT", "user_code_error"),
        ("gRPC", grpc("CANCELLED", "Channel closed!"), None, "gRPC CANCELLED", "unknown"),
        ("WS", closed(1013), None, "WebSocket 1013", "server_busy"),
        ("WS", closed(1011), None, "WebSocket 1011", "service_error"),
        ("WS", closed(4007), None, "WebSocket 4007", "unknown"),
        ("WS", raised("ConnectionClosed", "too big", "simple_websocket.errors", reason=1009), None, "WebSocket 1009",
         "request_rejected"),
        ("WS", ConnectionError("WebSocket 1012: restarts"), None, "WebSocket 1012", "service_unavailable"),
        ("WS", LOST, None, "", "connection_reset"),
        ("WS", raised("WebSocketTimeoutException", "timed out", "websocket._exceptions"), None, "", "read_timeout"),
        ("WS", HANDSHAKE, None, "", "load_shedding"),
        ("POST", checked("GraphQL THROTTLED: slow down"), None, "GraphQL THROTTLED", "server_busy"),
        ("POST", checked("GraphQL BAD_USER_INPUT: no such id"), None, "GraphQL BAD_USER_INPUT", "request_rejected"),
        ("POST", checked("GraphQL OUT_OF_STOCK: none left"), None, "GraphQL OUT_OF_STOCK", "failed_check"),
        ("GET", PahoError.MQTT_ERR_CONN_LOST, None, "", "failed_check"),
        ("GET", 7, None, "", "failed_check"),
    ],
)  # fmt: skip
def test_a_code_of_a_protocol_is_in_front_of_the_text_and_has_its_cause(
    method: str, exception: object, reply: object, code: str, cause: str
) -> None:
    failure = as_failure(method, exception)
    signature = signature_of(failure, reply)
    assert signature.code == code
    assert full_text(failure, reply).startswith(code)
    assert classify(signature, "Linux") == cause


def test_values_of_rows_are_in_no_signature() -> None:
    failure = sql("UniqueViolation", "duplicate key\nDETAIL:  Key (mail)=(ann@example.org) already exists.", "23505")
    assert "ann" not in signature_of(failure).text + full_text(failure)


def test_the_words_of_a_grpc_failure_are_its_details_alone() -> None:
    assert signature_of(grpc("INTERNAL", "the store failed 17 times")).text == "gRPC INTERNAL: the store failed # times"
    assert full_text(grpc("INTERNAL", "the store failed 17 times")) == "gRPC INTERNAL: the store failed 17 times"


def test_a_socket_of_a_library_in_c_has_its_errno_from_its_text() -> None:
    text = 'connection failed: connection to server at "127.0.0.1", port 1 failed: Connection refused\n\tIs the server running?'
    signature = signature_of(sql("OperationalError", text))
    assert signature.errno == errno.ECONNREFUSED
    assert classify(signature, "Linux") == "connection_refused"


def test_a_locustfile_that_names_a_code_itself_is_understood() -> None:
    signature = signature_of(raised("CatchResponseError", "SQLSTATE 40P01: from my own gateway", "locust.exception"))
    assert classify(signature, "Linux") == "deadlock"


def test_a_check_that_is_named_after_a_protocol_is_a_check() -> None:
    signature = signature_of(raised("CatchResponseError", "Redis cache: expected 7, read 3", "locust.exception"))
    assert classify(signature, "Linux") == "failed_check"


def test_a_user_that_cannot_be_made_for_lack_of_connections_is_no_error_of_user_code() -> None:
    errors = UserErrors()
    errors.add(refused("sorry, too many clients already"))
    assert cause_of(errors.waiting[0]) == "too_many_connections"


def test_every_code_has_a_cause_of_the_catalogue() -> None:
    found = {cause for known in CODES.values() for cause in known.values()}
    assert found - set(ENTRIES) == set()

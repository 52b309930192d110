"""One failed request and the cause it points at: tables of exceptions, recorded on Linux, documented for macOS and Windows."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from capexplorer.addresses import NOT_ALLOWED
from capexplorer.analysis.causes.classify import ERRNOS, classify
from capexplorer.load.signature import signature_of
from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.events import FailureSignature

FILES = sorted((Path(__file__).parents[2] / "data/exceptions").glob("*.json"))
TABLES = [json.loads(file.read_text()) for file in FILES]
CASES = [(table["system"], case) for table in TABLES for case in table["cases"]]


def rebuilt(chain: list[dict[str, Any]]) -> BaseException:
    """The exceptions of a recorded chain, each the context of the one before."""
    made: BaseException | None = None
    for link in reversed(chain):
        known = {"errno": link.get("errno"), "code": link.get("status")}
        each = type(link["type"], (Exception,), {name: value for name, value in known.items() if value is not None})(link["text"])
        each.__cause__, made = made, each
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("system", "case"), CASES, ids=[f"{system}-{case.get('client', '')}-{case['condition']}" for system, case in CASES]
)
def test_recorded_exceptions_point_at_their_cause(system: str, case: dict[str, Any]) -> None:
    signature = signature_of(rebuilt(case["chain"]))
    of_the_connection = {name: case[name] for name in ("status", "reused") if name in case}
    assert classify(msgspec.structs.replace(signature, **of_the_connection), system) == case["id"]


def test_every_system_has_recorded_exceptions_with_their_source() -> None:
    assert {table["system"] for table in TABLES} == set(ERRNOS)
    assert [table["system"] for table in TABLES if not table["source"]] == []
    elsewhere = [case for table in TABLES if table["system"] != "Linux" for case in table["cases"]]
    assert [case for case in elsewhere if not case.get("source")] == []


def signature_with(*types: str, **fields: Any) -> FailureSignature:
    return FailureSignature(types=types, **fields)


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        (signature_with("HostNotAllowed", errno=errno.EACCES), "host_not_allowed"),
        (
            signature_with("OperationalError", text=f"failed to resolve host 'db.example': {NOT_ALLOWED} db.example)"),
            "host_not_allowed",
        ),
        (signature_with("HTTPConnectionClosed", "ConnectionResetError", errno=104, reused=True), "connection_reset"),
        (signature_with("HTTPConnectionClosed", reused=None), "connection_reset"),
        (signature_with("RetriesExceeded", "TimeoutError", text="timed out"), "read_timeout"),
        (signature_with("ReadTimeout", "OSError", errno=110), "read_timeout"),
        (signature_with("gaierror", errno=12), "dns_failure"),  # EAI_BADHINTS of macOS, not ENOMEM
        (signature_with("gaierror", errno=24), "fd_exhaustion_generator"),
        (signature_with("RetriesExceeded", text="Redirection limit reached (#)"), "unexpected_status"),
        (signature_with("TooManyRedirects", status=302), "unexpected_status"),
        (signature_with("HTTPError", status=418), "client_error"),
        (signature_with("BadStatusLine", text="\\x15\\x03\\x01\\x00\\x02\\x02P"), "tls_handshake_failure"),
        (signature_with("SSLError", "SSLEOFError"), "tls_handshake_failure"),
        (signature_with("HTTPParseError", "AttributeError", text="Incomplete response."), "incomplete_response"),
        (signature_with("CatchResponseError", text="unexpected_status", status=200), "unexpected_status"),
        (signature_with("CatchResponseError", text="unexpected_status", status=503), "load_shedding"),
        (signature_with("CatchResponseError", text="unexpected_status"), "unexpected_status"),
        (signature_with("CatchResponseError", text="lost_updates", status=404), "failed_check"),
        (signature_with("CatchResponseError", text="wrong body", status=200), "failed_check"),
        (signature_with("CatchResponseError", text="got 404", status=404), "client_error"),
        (signature_with("CatchResponseError", text="task_failed", status=200), "task_failed_result"),
        (signature_with("CatchResponseError", text="task FAILED", status=200), "task_failed_result"),
        (signature_with("CatchResponseError", text="Task status: failed"), "task_failed_result"),
        (signature_with("CatchResponseError", text="job is failed"), "task_failed_result"),
        (signature_with("CatchResponseError", text="task_timeout", status=200), "task_timeout"),
        (signature_with("CatchResponseError", text="task timed out"), "task_timeout"),
        (signature_with("CatchResponseError", text="result: too many open files"), "task_failed_result"),
        (signature_with("CatchResponseError", text="tasks_lost", status=200), "failed_check"),
        (signature_with("AssertionError", text="no balance"), "failed_check"),
        (signature_with("str", text="boom"), "failed_check"),
        (signature_with("KeyError", text="'id'"), "user_code_error"),
        (signature_with("WebSocketTimeoutException", text="timed out"), "read_timeout"),
        (signature_with("Other"), "unknown"),
        (signature_with(), "unknown"),
    ],
)
def test_the_errno_decides_then_the_type_then_the_status_then_the_check(signature: FailureSignature, expected: str) -> None:
    assert classify(signature, "Linux") == expected


def test_errno_numbers_of_linux_are_those_of_its_headers() -> None:
    names = {
        "EADDRNOTAVAIL": "ephemeral_port_exhaustion", "EADDRINUSE": "ephemeral_port_exhaustion", "ENOBUFS": "tcp_memory_pressure",
        "ECONNREFUSED": "connection_refused", "ECONNRESET": "connection_reset", "ECONNABORTED": "connection_reset",
        "EPIPE": "connection_reset", "ENOTCONN": "connection_reset", "ESHUTDOWN": "connection_reset",
        "ETIMEDOUT": "connect_timeout",
        "EHOSTUNREACH": "host_unreachable", "EHOSTDOWN": "host_unreachable", "ENETUNREACH": "network_unreachable",
        "ENETDOWN": "network_unreachable", "EMFILE": "fd_exhaustion_generator", "ENFILE": "fd_exhaustion_system",
        "ENOMEM": "tcp_memory_pressure", "EBUSY": "dns_failure",
    }  # fmt: skip
    assert {getattr(errno, name): found for name, found in names.items()} == ERRNOS["Linux"]


@pytest.mark.parametrize("number", sorted({number for table in ERRNOS.values() for number in table}))
def test_an_errno_has_the_same_cause_on_every_system_that_has_it(number: int) -> None:
    """So that failures of a log without the name of its system are classified as well."""
    meanings = {table[number] for table in ERRNOS.values() if number in table}
    assert len(meanings) == 1
    assert classify(signature_with("OSError", errno=number), None) in meanings


def test_exception_types_decide_if_the_errno_is_unknown() -> None:
    assert classify(signature_with("ConnectionRefusedError", errno=146), "SunOS") == "connection_refused"
    assert classify(signature_with("OSError", errno=146), "SunOS") == "unknown"


def test_every_cause_of_an_errno_or_a_recorded_exception_is_in_the_catalogue() -> None:
    found = {number for table in ERRNOS.values() for number in table.values()} | {case["id"] for _, case in CASES}
    assert found <= set(ENTRIES)

"""One failed request and the cause it points at: tables of exceptions, recorded on Linux, documented for macOS and Windows."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from capexplorer.analysis.causes.catalogue import ENTRIES
from capexplorer.analysis.causes.classify import ERRNOS, classify
from capexplorer.load.signature import reduce
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
    signature = reduce(rebuilt(case["chain"]))
    of_the_connection = {name: case[name] for name in ("status", "reused") if name in case}
    assert classify(msgspec.structs.replace(signature, **of_the_connection), system) == case["id"]


def test_every_system_has_recorded_exceptions_with_their_source() -> None:
    assert {table["system"] for table in TABLES} == set(ERRNOS)
    assert all(table["source"] for table in TABLES)
    assert all(case.get("source") for table in TABLES if table["system"] != "Linux" for case in table["cases"])


def signed(*types: str, **fields: Any) -> FailureSignature:
    return FailureSignature(types=types, **fields)


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        (signed("HostNotAllowed", errno=errno.EACCES), "host_not_allowed"),
        (signed("HTTPConnectionClosed", "ConnectionResetError", errno=104, reused=True), "connection_reset"),
        (signed("HTTPConnectionClosed", reused=None), "connection_reset"),
        (signed("RetriesExceeded", "TimeoutError", text="timed out"), "read_timeout"),
        (signed("ReadTimeout", "OSError", errno=110), "read_timeout"),
        (signed("gaierror", errno=12), "dns_failure"),  # EAI_BADHINTS of macOS, not ENOMEM
        (signed("gaierror", errno=24), "fd_exhaustion_generator"),
        (signed("RetriesExceeded", text="Redirection limit reached (#)"), "unexpected_status"),
        (signed("TooManyRedirects", status=302), "unexpected_status"),
        (signed("HTTPError", status=418), "client_error"),
        (signed("BadStatusLine", text="\\x15\\x03\\x01\\x00\\x02\\x02P"), "tls_handshake_failure"),
        (signed("SSLError", "SSLEOFError"), "tls_handshake_failure"),
        (signed("HTTPParseError", "AttributeError", text="Incomplete response."), "incomplete_response"),
        (signed("CatchResponseError", text="unexpected_status", status=200), "unexpected_status"),
        (signed("CatchResponseError", text="unexpected_status", status=503), "load_shedding"),
        (signed("CatchResponseError", text="unexpected_status"), "unexpected_status"),
        (signed("CatchResponseError", text="lost_updates", status=404), "failed_check"),
        (signed("CatchResponseError", text="wrong body", status=200), "failed_check"),
        (signed("CatchResponseError", text="got 404", status=404), "client_error"),
        (signed("CatchResponseError", text="task_failed", status=200), "task_failed_result"),
        (signed("CatchResponseError", text="task FAILED", status=200), "task_failed_result"),
        (signed("CatchResponseError", text="Task status: failed"), "task_failed_result"),
        (signed("CatchResponseError", text="job is failed"), "task_failed_result"),
        (signed("CatchResponseError", text="task_timeout", status=200), "task_timeout"),
        (signed("CatchResponseError", text="task timed out"), "task_timeout"),
        (signed("CatchResponseError", text="result: too many open files"), "task_failed_result"),
        (signed("CatchResponseError", text="tasks_lost", status=200), "failed_check"),
        (signed("AssertionError", text="no balance"), "failed_check"),
        (signed("str", text="boom"), "failed_check"),
        (signed("KeyError", text="'id'"), "user_code_error"),
        (signed("WebSocketTimeoutException", text="timed out"), "unknown"),
        (signed("Other"), "unknown"),
        (signed(), "unknown"),
    ],
)
def test_the_errno_decides_then_the_type_then_the_status_then_the_check(signature: FailureSignature, expected: str) -> None:
    assert classify(signature, "Linux") == expected


def test_numbers_of_this_system_are_those_of_its_headers() -> None:
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
def test_a_number_means_the_same_wherever_it_is_known(number: int) -> None:
    """So a log that does not say where it was recorded is read right all the same."""
    meanings = {table[number] for table in ERRNOS.values() if number in table}
    assert len(meanings) == 1
    assert classify(signed("OSError", errno=number), None) in meanings


def test_exception_types_decide_if_the_errno_is_unknown() -> None:
    assert classify(signed("ConnectionRefusedError", errno=146), "SunOS") == "connection_refused"
    assert classify(signed("OSError", errno=146), "SunOS") == "unknown"


def test_all_that_is_found_is_in_the_catalogue() -> None:
    found = {number for table in ERRNOS.values() for number in table.values()} | {case["id"] for _, case in CASES}
    assert found <= set(ENTRIES)
    assert {entry.id for entry in ENTRIES.values() if entry.symptom} == {
        "ephemeral_port_exhaustion", "connect_timeout", "read_timeout", "unknown",
    }  # fmt: skip

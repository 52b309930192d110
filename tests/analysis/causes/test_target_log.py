"""The line of the target's log that is evidence of a cause: it names an error, and was written when requests began to fail."""

from __future__ import annotations

from typing import Literal

import pytest

from capexplorer import wording
from capexplorer.analysis.log_text import LENGTH_MOST, folded
from capexplorer.model.events import Log
from capexplorer.model.findings import Cause
from capexplorer.model.timeline import Timeline

from ..seconds import BEGINNING, ERROR_500, LINUX, NO_NAME, cause_marks, died, failed, latest_by_id, second, seconds


def logged(t_s: float, text: str, source: Literal["target", "stderr"] = "target") -> Log:
    return Log(t_s=t_s, source=source, text=text)


def quoted(*events: object, cause: str = "server_error") -> str:
    finding = latest_by_id(cause_marks(events))[cause].finding  # type: ignore[arg-type]
    assert isinstance(finding, Cause)
    return finding.logged


def test_the_line_that_names_an_error_when_requests_begin_to_fail_is_evidence() -> None:
    fatal = logged(2.5, "2026-11-21 10:00:01.123 [4711] FATAL: sorry, too many clients already")
    assert quoted(logged(2.4, "GET /a 200"), fatal, second(3, ERROR_500)) == "FATAL: sorry, too many clients already"


def test_lines_that_differ_by_numbers_count_as_one_and_the_most_frequent_is_chosen() -> None:
    pool = [logged(2.0 + n / 100, f"error: connection {n} of the pool timed out after {n}.5 s") for n in range(5)]
    assert quoted(logged(2.0, "warning: failed to rotate"), *pool, second(3, ERROR_500)).startswith(
        "error: connection # of the pool"
    )


def test_an_error_several_seconds_earlier_or_of_user_code_is_not_evidence() -> None:
    assert quoted(logged(2.0, "ERROR: cache failed"), second(9, ERROR_500)) == ""
    assert quoted(logged(8.9, "ERROR: mine", source="stderr"), second(9, ERROR_500)) == ""


def test_causes_outside_the_target_quote_no_line_of_its_log() -> None:
    marks = latest_by_id(cause_marks([logged(2.5, "ERROR: too many clients"), second(3, NO_NAME), second(4, NO_NAME)]))
    findings = [mark.finding for mark in marks.values() if isinstance(mark.finding, Cause)]
    assert findings
    assert {each.logged for each in findings} == {""}


def test_the_advice_of_a_cause_begins_with_the_line_of_the_log_without_quotes_of_commands() -> None:
    marks = latest_by_id(cause_marks([logged(2.5, "ERROR: `pool` has too many clients."), second(3, ERROR_500)]))
    advised = wording.advice(marks["server_error"].finding)
    assert advised.startswith("Its log: ERROR: 'pool' has too many clients. Read")
    assert "too many clients" not in wording.example(marks["server_error"].finding)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[2026-11-21T10:00:01Z] ERROR: slot 17 of 97", "ERROR: slot # of #"),
        ("error 0xdeadbeef id=9f8e7d6c5b4a39281706", "error # id=#"),
        ("token ghp_16C7e42F292c6912E7710c838347Ae178B4a denied", "token # denied"),
    ],
)
def test_times_numbers_and_tokens_of_a_line_are_replaced_by_placeholders(line: str, expected: str) -> None:
    assert folded(line).endswith(expected)


SQLALCHEMY = "sqlalchemy.exc.TimeoutError: QueuePool limit of size 5 overflow 10 reached, connection timed out, timeout 1.00"
FASTAPI = f"""INFO:     127.0.0.1:42424 - "GET /items HTTP/1.1" 500 Internal Server Error
ERROR:    Exception in ASGI application
Traceback (most recent call last):
  File "/app/main.py", line 6, in items
    raise TimeoutError("QueuePool limit reached: timeout")
{SQLALCHEMY}"""
CHAINED = f"""Traceback (most recent call last):
  File "/app/pool.py", line 6, in get
queue.Empty

During handling of the above exception, another exception occurred:

{FASTAPI}"""
GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/app/main.py", line 6, in items
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/app/main.py", line 9, in one
    | psycopg.OperationalError: FATAL: sorry, too many clients already
    +------------------------------------"""
JAVA = """2026-11-26 10:00:00.1 ERROR 1 --- [nio-8080-exec-3] o.a.c.c.C.[dispatcherServlet] : Servlet.service() threw exception
java.lang.IllegalStateException: cannot serve the order
\tat com.example.Orders.get(Orders.java:17)
Caused by: java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, timed out after 3000ms.
\tat com.zaxxer.hikari.pool.HikariPool.createTimeoutException(HikariPool.java:686)
\t... 23 more"""
GO = """2026/11/26 10:00:00 http: panic serving 127.0.0.1:42424: runtime error: index out of range [5] with length 3
goroutine 34 [running]:
net/http.(*conn).serve.func1()
\t/usr/local/go/src/net/http/server.go:1868 +0xb9"""
NODE = """/app/server.js:5
  throw new Error('cannot serve', { cause })
  ^

Error: cannot serve
    at Server.<anonymous> (/app/server.js:5:9) {
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:5432
      at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16) {
    errno: -111,
    code: 'ECONNREFUSED'"""
RUST = """thread 'tokio-runtime-worker' panicked at src/main.rs:17:5:
called `Result::unwrap()` on an `Err` value: PoolTimedOut
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"""
DOTNET = """fail: Microsoft.AspNetCore.Server.Kestrel[13]
      An unhandled exception was thrown by the application.
      System.InvalidOperationException: Timeout expired. All pooled connections were in use and max pool size was reached.
         at Npgsql.PoolingDataSource.Get()"""
RUBY = "app.rb:12:in 'Pool#checkout': could not obtain a connection within 5.000 s (ActiveRecord::ConnectionTimeoutError)"
JSON = r'{"level": "error", "exc": "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: no slot is free"'

REASONS = {
    "Python, uvicorn": (FASTAPI, SQLALCHEMY),
    "Python, two exceptions: the last was raised": (CHAINED, SQLALCHEMY),
    "Python, a group": (GROUP, "psycopg.OperationalError: FATAL: sorry, too many clients already"),
    "Java: the root of the chain": (JAVA, "java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available"),
    "Go": (GO, "runtime error: index out of range [5] with length 3"),
    "Go, the program ends": ("panic: no slot is free [recovered]\n\ngoroutine 1 [running]:", "panic: no slot is free"),
    "Node: the root of the chain": (NODE, "Error: connect ECONNREFUSED 127.0.0.1:5432"),
    "Rust": (RUST, "called `Result::unwrap()` on an `Err` value: PoolTimedOut"),
    ".NET": (DOTNET, "System.InvalidOperationException: Timeout expired. All pooled connections were in use"),
    "Ruby": (RUBY, "could not obtain a connection within 5.000 s (ActiveRecord::ConnectionTimeoutError)"),
    "a traceback as text of JSON": (JSON, "ValueError: no slot is free"),
}


def lines(text: str, t_s: float = 2.5, times: int = 1) -> list[Log]:
    return [Log(t_s=t_s, source="target", text=line, repeated=times) for line in text.splitlines()]


@pytest.mark.parametrize(("text", "reason"), REASONS.values(), ids=REASONS)
def test_the_reason_of_a_traceback_is_quoted_and_not_its_header(text: str, reason: str) -> None:
    header = lines("ERROR: cannot serve this request: unhandled exception", 2.4, times=11)
    assert quoted(*header, *lines(text, times=11), second(3, ERROR_500)).startswith(reason)


def test_the_reason_that_was_printed_most_often_is_quoted() -> None:
    rare, often = FASTAPI.replace(SQLALCHEMY, "KeyError: 'x'"), FASTAPI
    assert quoted(*lines(rare), *lines(often, times=3), *lines(rare), second(3, ERROR_500)) == SQLALCHEMY


def test_a_reason_that_is_printed_after_the_first_failures_replaces_their_header() -> None:
    header, rest = FASTAPI.splitlines()[:2], FASTAPI.splitlines()[2:]
    late = lines("\n".join(rest), 3.5)
    assert quoted(*lines("\n".join(header)), second(3, ERROR_500), *late, second(4, ERROR_500)) == SQLALCHEMY


def test_a_token_in_a_reason_is_replaced_and_its_numbers_are_kept() -> None:
    text = FASTAPI.replace(SQLALCHEMY, "ValueError: 3 of ghp_16C7e42F292c6912E7710c838347Ae178B4a in 0xdeadbeef")
    assert quoted(*lines(text), second(3, ERROR_500)) == "ValueError: 3 of # in #"


@pytest.mark.parametrize("cause", ["server_error", "target_crashed"])
def test_the_reason_is_in_the_verdict_and_in_the_advice(cause: str) -> None:
    events = second(3, ERROR_500), died(3.2, exit_code=1), *seconds(4, 9)
    marks = latest_by_id(cause_marks([*lines(FASTAPI), *(events[:1] if cause == "server_error" else events)]))
    assert marks[cause].finding.id == cause
    timeline = Timeline([LINUX, *BEGINNING[1:], marks[cause]])
    assert SQLALCHEMY in wording.verdict(timeline)
    assert SQLALCHEMY in wording.advice(marks[cause].finding)


NGINX = (
    "2026/11/26 13:48:30 [crit] 17#17: *5 connect() to 127.0.0.1:18311 failed (99: Cannot assign requested address) "
    "while connecting to upstream"
)


def test_a_proxy_without_local_ports_is_named_and_not_its_upstream() -> None:
    marks = latest_by_id(cause_marks([logged(2.5, NGINX), second(3, failed("LocustBadStatusCode", status=502))]))
    assert "no local port left" in wording.title(marks["bad_gateway"])
    assert "upstream: is it running" not in wording.mark(marks["bad_gateway"])
    assert "Its log: connect() to" in wording.mark(marks["bad_gateway"])


def test_a_proxy_whose_upstream_is_down_has_local_ports() -> None:
    refused = logged(2.5, NGINX.replace("99: Cannot assign requested address", "111: Connection refused"))
    marks = latest_by_id(cause_marks([refused, second(3, failed("LocustBadStatusCode", status=502))]))
    assert "no local port" not in wording.mark(marks["bad_gateway"])


def test_a_long_line_is_cut_after_a_whole_word() -> None:
    line = folded("cannot connect " * 100)
    assert len(line) <= LENGTH_MOST
    assert line.endswith(("cannot", "connect"))

"""Faults reported by an HTTP status, or inside a reply with status 200."""

from __future__ import annotations

from .row import Row


def _status(code: int, expected: str, after: int = 0, short: str = "") -> Row:
    share = f"one in {after}" if after else "all"
    return Row(
        name=f"status-{code}",
        family="http",
        fault=f"{share} of the replies are {code}",
        expected=(expected,),
        act="status",
        params={"amount": code, "after": after},
        short=short,
    )


ROWS = (
    _status(500, "server_error", after=5, short="8:3s"),
    _status(502, "bad_gateway", after=4),
    _status(504, "gateway_timeout", after=4),
    _status(404, "client_error", after=3),
    _status(429, "rate_limited", after=2),
    Row(
        name="unexpected-status",
        family="http",
        fault="200 where 201 was expected",
        expected=("unexpected_status",),
        task={"name": "/work", "expect_status": 201},
    ),
    Row(
        name="shedding",
        family="http",
        fault="503 beyond 4 requests at a time",
        expected=("load_shedding",),
        act="shed",
        params={"amount": 4},
        wait_s="{ constant = 0.02 }",
        plan="4:8s,16:9s",
    ),
    Row(
        name="body-cut",
        family="http",
        fault="the connection ends in the middle of the body",
        expected=("incomplete_response",),
        act="cut_body",
    ),
    Row(
        name="chunks-cut",
        family="http",
        fault="the connection ends in the middle of a chunk",
        expected=("incomplete_response",),
        act="cut_chunks",
    ),
    Row(
        name="headers-cut",
        family="http",
        fault="the connection ends in the middle of the headers",
        expected=("incomplete_response",),
        act="cut_headers",
    ),
    Row(
        name="no-http",
        family="http",
        fault="an SSH server answers on the port",
        expected=("malformed_response",),
        act="no_http",
    ),
    Row(
        name="hang-up",
        family="http",
        fault="a FIN instead of a reply",
        expected=(),
        one_of=("connection_reset", "incomplete_response"),
        act="silence",
    ),
    Row(
        name="service-closes",
        family="http",
        fault="the service answers correctly, and closes the connection after each reply",
        expected=("service_closes_connections",),
        act="close",
    ),
    Row(
        name="failed-task",
        family="http",
        fault="a failure reported inside a 200, one time in five",
        expected=("task_failed_result",),
        act="task_failed",
        params={"after": 5},
        locustfile="checks.py",
    ),
    Row(
        name="poll-deadline",
        family="http",
        fault="the polled task does not finish before its deadline",
        expected=("task_timeout",),
        locustfile="deadline.py",
    ),
    Row(
        name="lost-updates-go",
        family="http",
        fault="a counter without a lock loses increments (profile kv-go-counter)",
        expected=("failed_check",),
        clients=("fast",),
        profile="kv-go-counter",
        needs="go",
        plan="1:5s,50:12s",
        one_process="its check compares the counter with the increments of one process",
    ),
    Row(
        name="lost-updates",
        family="http",
        fault="a check in user code fails one time in five",
        expected=("failed_check",),
        act="lost_updates",
        params={"after": 5},
        locustfile="checks.py",
    ),
)

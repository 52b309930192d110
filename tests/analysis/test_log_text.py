"""Lines of a service's log: which are equal but for what varies, and which belong to a traceback."""

from __future__ import annotations

import pytest

from capexplorer.analysis.log_text import Tracebacks, grouped

TRACEBACKS = {
    "Python": (
        'Traceback (most recent call last):\n  File "/app/db.py", line 41, in acquire\n    raise TimeoutError(waited)\n'
        "    ^^^^^^^^^^^^^^^^^^^^^^^^^^\nTimeoutError: no connection of 4 within 0.5 s",
        ["TimeoutError: no connection of 4 within 0.5 s"],
    ),
    "Python, chained": (
        "Traceback (most recent call last):\nKeyError: 'id'\n"
        "During handling of the above exception, another exception occurred:\n"
        "Traceback (most recent call last):\nValueError: bad id",
        ["KeyError: 'id'", "ValueError: bad id"],
    ),
    "Go": (
        "2026/11/27 10:00:00 http: panic serving 127.0.0.1:4711: no connection of 4 within 500ms\ngoroutine 19 [running]:\n"
        "net/http.(*conn).serve.func1()\n\t/usr/local/go/src/net/http/server.go:1947 +0xbe\npanic({0x64, 0x71})\n"
        "main.main.func2({0x8, 0xc}, 0xc0)\n\t/src/serve.go:47 +0x1a5\ncreated by net/http.(*Server).Serve in goroutine 1",
        ["no connection of 4 within 500ms"],
    ),
    "Java": (
        "java.sql.SQLTransientConnectionException: HikariPool-1 - request timed out after 30001ms.\n"
        "\tat com.zaxxer.hikari.pool.HikariPool.createTimeoutException(HikariPool.java:696)\n\t... 12 more\n"
        "Caused by: java.net.SocketTimeoutException: Read timed out",
        [
            "java.sql.SQLTransientConnectionException: HikariPool-1 - request timed out after 30001ms.",
            "java.net.SocketTimeoutException: Read timed out",
        ],
    ),
    "Node": (
        "TypeError: Cannot read properties of undefined (reading 'id')\n    at handler (/app/server.js:12:7)\n"
        "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
        ["TypeError: Cannot read properties of undefined (reading 'id')"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", TRACEBACKS)
def test_of_a_traceback_only_the_exception_is_a_line_of_its_own(language: str) -> None:
    text, reasons = TRACEBACKS[language]
    tracebacks = Tracebacks()
    read = [tracebacks.read(line) for line in text.split("\n")]
    assert [each.reason for each in read if each.reason is not None] == reasons
    assert all(each.is_frame for each in read if each.reason is None)
    after = tracebacks.read("2026-11-27 10:00:01 INFO checkpoint 7 written")
    assert (after.reason, after.is_frame) == (None, False)


@pytest.mark.parametrize(
    ("line", "group"),
    [
        ("2026-11-27 10:15:09,123 WARNING app: request 3fa91c2b waited 112.5 ms", "WARNING app: request # waited # ms"),
        ("10:15:09.123 WARN [pool-2] took 12ms for user 8f14e45f-ceea-467d-9538-1b2b3c4d5e6f", "WARN [pool-#] took # for user #"),
        ("10.0.0.7 - GET /items/4711 200", "GET /items/# #"),
    ],
)
def test_numbers_times_and_ids_are_masked(line: str, group: str) -> None:
    assert grouped(line) == group

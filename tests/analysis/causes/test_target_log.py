"""The line of the target's log that is evidence of a cause: it names an error, and was written when requests began to fail."""

from __future__ import annotations

from typing import Literal

import pytest

from capexplorer import wording
from capexplorer.analysis.causes.target_log import LENGTH_MOST, folded
from capexplorer.model.events import Log
from capexplorer.model.findings import Cause

from ..seconds import ERROR_500, NO_NAME, cause_marks, latest_by_id, second


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


def test_the_example_of_a_cause_shows_the_line_of_the_log() -> None:
    marks = latest_by_id(cause_marks([logged(2.5, "ERROR: too many clients"), second(3, ERROR_500)]))
    assert wording.example(marks["server_error"].finding).endswith("the target's log: ERROR: too many clients")


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


def test_a_long_line_is_cut_after_a_whole_word() -> None:
    line = folded("cannot connect " * 100)
    assert len(line) <= LENGTH_MOST
    assert line.endswith(("cannot", "connect"))

"""The clause about changes of the service other than by load: what changed, from when to when, and what was served until then."""

from __future__ import annotations

from typing import Any

import msgspec

from capexplorer.model.verdicts import RegimeVerdict
from capexplorer.wording.knee_sentences import changes

from .judged_sessions import UP_TO_82, knee_verdict, mark, verdict_sentence

STEADY = RegimeVerdict(began_s=0.0, users=20, after_rps=56.1, most_users=20, most_rps=56.1, judged=True)


def change(began_s: float, **fields: Any) -> RegimeVerdict:
    """A change in the middle of a level of 20 users, 23 s after the last step."""
    found = {"began": "goodput", "inside": True, "after_step_s": 23.0, "after_rps": 20.6, "before_rps": 56.1, **fields}
    return RegimeVerdict(began_s=began_s, users=20, most_users=20, most_rps=found["after_rps"], **found)


FAULT = change(24.0, began="failures", until_s=36.0, failure_ratio=0.5, after_rps=27.3)
STALL = change(84.0, began="failures", until_s=87.0, after_rps=0.0)


def test_a_fault_that_is_over_has_its_begin_and_its_end() -> None:
    assert changes([STEADY, FAULT]) == (
        "from 00:24 to 00:36 at 20 users 50% of requests failed, beginning 23 s after the last step: "
        "a fault at that time, not a load limit; until then 20 users reached 56.1/s"
    )


def test_a_fault_that_goes_on_has_its_begin() -> None:
    clause = changes([STEADY, msgspec.structs.replace(FAULT, until_s=None)])
    assert clause.startswith("at 00:24 and 20 users 50% of requests started to fail, 23 s after the last step: a fault")


def test_of_a_service_without_replies_no_request_is_called_failed() -> None:
    assert changes([STEADY, STALL]).startswith("from 01:24 to 01:27 at 20 users the service did not reply, beginning 23 s after")
    goes_on = changes([STEADY, msgspec.structs.replace(STALL, until_s=None)])
    assert goes_on.startswith("at 01:24 and 20 users the service stopped replying, 23 s after the last step")


def test_the_end_of_a_fault_is_no_further_change() -> None:
    assert "again" not in changes([STEADY, STALL, change(87.0, after_rps=74.0)])


def test_further_changes_have_their_times() -> None:
    assert changes([STEADY, FAULT, change(72.0)]).endswith("; the service changed again at 01:12")
    further = [change(at_s) for at_s in (72.0, 101.0, 125.0, 150.0, 170.0)]
    assert changes([STEADY, FAULT, *further[:3]]).endswith("; the service changed again at 01:12, 01:41 and 02:05")
    assert changes([STEADY, FAULT, *further]).endswith("; the service changed again at 01:12, 01:41, 02:05 and 2 more times")


def test_failures_that_a_clause_before_names_are_not_named_again() -> None:
    assert changes([STEADY, FAULT], named=[FAULT]).startswith(
        "the failures began 23 s after the last step: a fault at that time, not a load limit; until then"
    )


def test_the_verdict_names_a_fault_once_with_its_begin_and_its_end() -> None:
    fault = mark("server_error", 20, 24.0, state="closed", last_s=36.0)
    verdict = msgspec.structs.replace(knee_verdict("knee", 47), regimes=(STEADY, FAULT))
    sentence = verdict_sentence(*UP_TO_82, verdict, fault)
    assert "server errors (HTTP 5xx) from 00:24 to 00:36 at 20 users; the failures began 23 s after the last step" in sentence
    assert sentence.count("00:24") == 1


def test_the_verdict_names_failures_at_another_time_beside_a_cause() -> None:
    later = mark("server_error", 20, 125.0, last_s=138.0)
    sentence = verdict_sentence(*UP_TO_82, msgspec.structs.replace(knee_verdict("knee", 47), regimes=(STEADY, FAULT)), later)
    assert "from 02:05 at 20 users; from 00:24 to 00:36 at 20 users 50% of requests failed" in sentence


def test_what_was_reached_after_a_fault_was_not_reached_until_then() -> None:
    later = msgspec.structs.replace(STEADY, most_users=24, most_rps=70.0, most_since_s=74.0)
    assert changes([later, FAULT]).endswith("; later 24 users reached 70/s")

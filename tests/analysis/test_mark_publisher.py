"""When a mark or a verdict is published again: it changed materially, closed, came back or no longer holds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from marked import marked

from capexplorer.analysis.capacity_marks import MarkPublisher
from capexplorer.model.events import Mark, Verdict
from capexplorer.model.findings import Bend, Knee
from capexplorer.model.verdicts import KneeVerdict

KNEE = marked(
    t_s=10.0, key="knee:epoch0", state="open", kind="knee", id="knee", users=47.0, confidence="high",
    evidence={"users_low": 43.0, "users_high": 52.0, "capacity_rps": 122.0, "limit": "queueing", "top_slope": 0.1},
)  # fmt: skip


def knee_with(**changes: Any) -> Mark:
    assert isinstance(KNEE.finding, Knee)
    figures = changes.pop("evidence", {})
    verdict_fields = {name: value for name, value in figures.items() if name in KneeVerdict.__struct_fields__}
    evidence = msgspec.structs.replace(
        KNEE.finding.verdict.evidence, **{n: v for n, v in figures.items() if n not in verdict_fields}
    )
    verdict = msgspec.structs.replace(KNEE.finding.verdict, evidence=evidence, **verdict_fields)
    return msgspec.structs.replace(KNEE, finding=Knee(verdict=verdict), **changes)


def knee_as_bend() -> Mark:
    assert isinstance(KNEE.finding, Knee)
    return msgspec.structs.replace(KNEE, finding=Bend(verdict=msgspec.structs.replace(KNEE.finding.verdict, kind="bend")))


ABOUT = ("knee:epoch0",)


@pytest.mark.parametrize(
    ("why", "now", "reported"),
    [
        ("the same", KNEE, False),
        ("users and capacity that change by less than 1%", knee_with(users=47.4, evidence={"capacity_rps": 122.9}), False),
        ("an interval that changes a little", knee_with(evidence={"users_low": 42.0, "users_high": 54.0}), False),
        ("a figure of the evidence that is not compared", knee_with(evidence={"top_slope": 0.2}), False),
        ("other users", knee_with(users=49.0), True),
        ("another capacity", knee_with(evidence={"capacity_rps": 126.0}), True),
        ("a narrower interval", knee_with(evidence={"users_high": 48.0}), True),
        ("another limit", knee_with(evidence={"limit": "errors"}), True),
        ("another confidence", knee_with(confidence="medium"), True),
        ("another kind", knee_as_bend(), True),
        ("another count of levels", knee_with(evidence={"levels_below": 3}), False),
        ("no longer provisional", knee_with(evidence={"provisional": False}), True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mark_is_superseded_when_it_changed_materially(why: str, now: Mark, reported: bool) -> None:
    publisher = MarkPublisher()
    assert [mark.revision for mark in publisher.update([KNEE], 10.0, complete_for=ABOUT)] == [1]
    again = publisher.update([now], 20.0, complete_for=ABOUT)
    assert [(mark.revision, mark.state, mark.t_s) for mark in again] == ([(2, "updated", 20.0)] if reported else [])


def test_small_changes_add_up_until_the_mark_is_updated() -> None:
    publisher = MarkPublisher()
    reported = [
        len(publisher.update([knee_with(users=47.0 + 0.2 * step)], float(step), complete_for=ABOUT)) for step in range(12)
    ]
    assert sum(reported) == 3
    assert reported[0] == 1


def test_final_marks_are_exact_and_not_published_twice() -> None:
    publisher = MarkPublisher()
    publisher.update([KNEE], 10.0, complete_for=ABOUT)
    last = knee_with(users=47.1)
    assert [mark.users for mark in publisher.update([last], 20.0, complete_for=ABOUT, all_changes=True)] == [47.1]
    assert publisher.update([last], 30.0, complete_for=ABOUT, all_changes=True) == ()


def test_a_mark_without_evidence_is_retracted_and_can_reopen() -> None:
    publisher = MarkPublisher()
    publisher.update([KNEE], 10.0, complete_for=ABOUT)
    assert [(mark.state, mark.revision) for mark in publisher.update([], 20.0, complete_for=ABOUT)] == [("retracted", 2)]
    assert publisher.update([], 21.0, complete_for=ABOUT) == ()
    assert [(mark.state, mark.revision) for mark in publisher.update([KNEE], 30.0, complete_for=ABOUT)] == [("open", 3)]


def test_a_mark_that_closes_is_published_once_and_can_reopen() -> None:
    publisher, over = MarkPublisher(), msgspec.structs.replace(KNEE, state="closed")
    publisher.update([KNEE], 10.0, complete_for=ABOUT)
    assert [(mark.state, mark.revision) for mark in publisher.update([over], 20.0, complete_for=ABOUT)] == [("closed", 2)]
    assert publisher.update([over], 21.0, complete_for=ABOUT, all_changes=True) == ()
    assert [(mark.state, mark.revision) for mark in publisher.update([KNEE], 30.0, complete_for=ABOUT)] == [("open", 3)]


def test_marks_of_another_epoch_are_left_unchanged() -> None:
    publisher = MarkPublisher()
    publisher.update([KNEE], 10.0, complete_for=ABOUT)
    assert publisher.update([], 20.0, complete_for=("knee:epoch1", "knee:epoch00")) == ()


def test_a_verdict_is_published_only_when_it_changes() -> None:
    publisher, verdict = MarkPublisher(), Verdict(t_s=1.0)
    assert publisher.verdict(verdict) == verdict
    assert publisher.verdict(msgspec.structs.replace(verdict, t_s=2.0)) is None
    assert publisher.verdict(Verdict(t_s=3.0, recovery_levels=(1,))) is not None
    assert publisher.verdict(Verdict(t_s=3.0, epoch=1)) is not None

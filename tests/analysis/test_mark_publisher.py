"""When a mark or a verdict is published again: it changed materially, closed, came back or no longer holds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from marked import marked

from capexplorer.analysis.capacity_marks import KINDS, MarkPublisher
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


ABOUT: dict[str, Any] = {"epoch": 0, "complete": KINDS}


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
    assert [mark.revision for mark in publisher.update([KNEE], 10.0, **ABOUT)] == [1]
    again = publisher.update([now], 20.0, **ABOUT)
    assert [(mark.revision, mark.state, mark.t_s) for mark in again] == ([(2, "updated", 20.0)] if reported else [])


def test_small_changes_add_up_until_the_mark_is_updated() -> None:
    publisher = MarkPublisher()
    reported = [len(publisher.update([knee_with(users=47.0 + 0.2 * step)], float(step), **ABOUT)) for step in range(12)]
    assert sum(reported) == 3
    assert reported[0] == 1


OVER = msgspec.structs.replace(KNEE, state="closed")
EXACTLY = {"all_changes": True}


@pytest.mark.parametrize(
    ("why", "steps"),
    [
        ("the last marks are exact, and not published twice",
         [([knee_with(users=47.1)], EXACTLY, ["updated"]), ([knee_with(users=47.1)], EXACTLY, [])]),
        ("it no longer holds, and can reopen", [([], {}, ["retracted"]), ([], {}, []), ([KNEE], {}, ["open"])]),
        ("it closes once, and can reopen", [([OVER], {}, ["closed"]), ([OVER], EXACTLY, []), ([KNEE], {}, ["open"])]),
        ("another epoch was judged", [([], {"epoch": 1}, [])]),
        ("another kind was judged", [([], {"complete": ("bottleneck",)}, [])]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_mark_is_published_once_as_it_changes_closes_goes_and_returns(
    why: str, steps: list[tuple[list[Mark], dict[str, Any], list[str]]]
) -> None:
    publisher, revision = MarkPublisher(), 1
    publisher.update([KNEE], 10.0, **ABOUT)
    for now, more, states in steps:
        found = publisher.update(now, 20.0, **(ABOUT | more))
        assert [mark.state for mark in found] == states
        assert [mark.revision for mark in found] == [revision := revision + 1 for _ in found]


def test_a_verdict_is_published_only_when_it_changes() -> None:
    publisher, verdict = MarkPublisher(), Verdict(t_s=1.0)
    assert publisher.verdict(verdict) == verdict
    assert publisher.verdict(msgspec.structs.replace(verdict, t_s=2.0)) is None
    assert publisher.verdict(Verdict(t_s=3.0, recovery_levels=(1,))) is not None
    assert publisher.verdict(Verdict(t_s=3.0, epoch=1)) is not None

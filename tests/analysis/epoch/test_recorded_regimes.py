"""Recorded sessions of services whose limits are known by construction: what is found in them again.

The services: an upstream that dies at constant load, clean at 24 users and about 110/s until then; a capacity of 100/s (24 users)
that doubles after about 60 s; a limiter that refuses more than 100/s (a knee near 21 users); a limiter that delays requests to
100/s (a knee at 21); and one thread, whose CPU neighbours used, with 2 to 20
users, on the line up to 14.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from analysis.recorded import RECORDED, analysed_again
from capexplorer import wording

Range = tuple[float, float]
"""(least, most)."""


@dataclass(frozen=True)
class Truth:
    """What must be found in a recording. None: it is not known, or there is none."""

    kind: str | None
    """Kind of the verdict on the knee."""
    users: Range | None = None
    """Where its users lie: those of the knee, or up to which there is none."""
    capacity_rps: Range | None = None
    limits: frozenset[str] = frozenset()
    """Ids of the limits of the service that are marked; more would be wrong."""
    changes: tuple[tuple[str, Range], ...] = ()
    """(what changed, when in seconds of the session) of each change of the service."""
    sure: bool = False
    """Whether the confidence is high."""
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = field(default=("GIL", "hypervisor", "generator's CPU"))


TRUTHS = {
    "upstream-dies-at-24-users": Truth(
        "no_knee", (24, 24), changes=(("failures", (34.5, 36.5)),),
        says=("Bad gateway (HTTP 502)", "a fault at that time, not a load limit", "24 users reached 112/s"), never_says=("knee",),
    ),
    "capacity-doubles-at-60-s": Truth(
        "knee", (22.5, 25.5), (90, 105), frozenset({"lock_or_pool_limit"}), changes=(("goodput", (58, 63)),),
        says=("until 01:01", "since then 48 users reached 191/s"),
    ),
    "rate-limit-that-refuses": Truth(
        "knee", (13, 24), (65, 105), frozenset({"rate_limit"}), says=("refuses requests (HTTP 429)", "low confidence"),
    ),
    "rate-limit-that-delays": Truth(
        "knee", (20, 22), (98, 102), frozenset({"rate_limit"}), sure=True, says=("delays requests to 100/s",),
    ),
    "busy-neighbours": Truth(
        "no_knee", (14, 14), sure=True, says=("Other processes use 1.1 of 2 cores", "results at 20 users do not describe"),
    ),
}  # fmt: skip
"""By name of the recording."""


def within(value: float | None, known: Range | None) -> bool:
    return known is None or (value is not None and known[0] <= value <= known[1])


def test_each_recording_is_judged() -> None:
    assert {path.stem for path in RECORDED.glob("*.jsonl")} == set(TRUTHS)


NO_LIMITS = {"think_time_limited", "not_saturated", "noisy_neighbours", "generator_shares_host"}


@pytest.mark.parametrize("name", TRUTHS)
def test_what_is_found_in_a_recording_is_what_the_service_is(name: str) -> None:
    truth, timeline = TRUTHS[name], analysed_again(name)
    verdict = timeline.verdicts[0]
    found, changes = verdict.capacity.knee, [regime for regime in verdict.regimes if regime.began is not None]
    assert (found and found.kind) == truth.kind
    assert within(found.users if found else None, truth.users)
    assert within(found.capacity_rps if found else None, truth.capacity_rps)
    assert (found is not None and found.confidence == "high") is truth.sure
    assert [regime.began for regime in changes] == [what for what, _ in truth.changes]
    assert all(within(regime.began_s, when_s) for regime, (_, when_s) in zip(changes, truth.changes, strict=True))
    marked = {mark.id for mark in wording.current_marks(timeline).values() if mark.kind == "bottleneck"}
    assert marked - NO_LIMITS == truth.limits
    line = wording.verdict(timeline)
    assert [words for words in truth.says if words not in line] == []
    assert [words for words in truth.never_says if words in line] == []


def test_a_fault_inside_a_level_has_its_time_since_the_step_and_the_goodput_until_then() -> None:
    healthy, failed = analysed_again("upstream-dies-at-24-users").verdicts[0].regimes
    assert healthy.most_users == 24
    assert healthy.most_rps == pytest.approx(112, rel=0.01)
    assert failed.inside
    assert failed.after_step_s == pytest.approx(11, abs=0.1)


def test_after_a_change_of_the_service_the_advice_is_to_measure_levels_of_the_changed_service() -> None:
    timeline = analysed_again("capacity-doubles-at-60-s")
    capacity = timeline.verdicts[0].capacity
    assert capacity.knee is not None
    assert capacity.knee.provisional
    assert [(each.kind, each.count) for each in capacity.missing] == [("levels", 2)]
    assert capacity.knee.verification is None

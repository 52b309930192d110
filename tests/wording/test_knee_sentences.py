"""Sentences about a knee and its verification, marks of the capacity curve, and objectives."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from marked import marked

from capexplorer import wording
from capexplorer.model.events import FigureChange, Mark, MarkChange, Reanalysed
from capexplorer.model.findings import Knee, RepliesChanged, Stalled
from capexplorer.model.verdicts import (
    CapacityVerdict,
    CurveFit,
    KneeVerdict,
    Missing,
    Peak,
    SloVerdict,
    Verification,
    VerificationStep,
)

KNEE_MARK = marked(
    t_s=10.0, key="knee:epoch0", state="open", kind="knee", id="knee", users=47.0, confidence="high",
    evidence={"users_low": 43.0, "users_high": 52.0, "capacity_rps": 122.0, "limit": "queueing", "top_slope": 0.1},
)  # fmt: skip

AT_47 = "Knee at 47 users [43–52] and 122/s, limited by queueing"
CONTRADICTED_AT_47 = "Contradicted knee at 47 users [43–52] and 122/s, limited by queueing"


def knee(kind: str = "knee", **changes: Any) -> CapacityVerdict:
    """The verdict of a knee at 47 users, with `changes` of its fields."""
    fields: dict[str, Any] = {
        "users": 47.0, "users_low": 43.0, "users_high": 52.0, "capacity_rps": 122.0, "limit": "queueing", "confidence": "high",
        **changes,
    }  # fmt: skip
    curve = CurveFit(low_load_rps_per_user=2.6, low_load_se=0.1, baseline_users=(1.0,))
    return CapacityVerdict(curve=curve, knee=KneeVerdict(kind=kind, **fields))  # type: ignore[arg-type]


def verification(*measured: int | None, soak: Any = None, back: Any = None) -> Verification:
    """The verification of a knee at 47 users. `measured`: for each step the users of the level that was measured, if one was.
    `soak` and `back`: how the soak, or the return to 1 user, disagrees with the earlier levels.
    """
    wanted = (("soak", 33, 20.0, soak), ("beyond", 57, 6.0, None), ("return_to_first", 1, 6.0, back))
    steps = tuple(
        VerificationStep(
            name=name,  # type: ignore[arg-type]
            users=users,
            least_s=least_s,
            most_s=2 * least_s,
            measured_users=measured[place] if place < len(measured) else None,
            disagreement=disagreement,
        )
        for place, (name, users, least_s, disagreement) in enumerate(wanted)
    )
    state = "contradicted" if soak or back else "verified" if len(measured) == 3 and None not in measured else "provisional"
    return Verification(state=state, steps=steps)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (knee(), f"{AT_47} (high confidence); provisional."),
        (knee(provisional=False), f"{AT_47} (high confidence)."),
        (knee(verification=verification()),
         f"{AT_47} (high confidence); provisional until new levels confirm it: hold 33 users for 20–40 s,"
         " then step to 57, then return to 1."),
        (knee(verification=verification(33)),
         f"{AT_47} (high confidence); provisional: 33 users confirmed it; to verify it, step to 57 users, then return to 1."),
        (knee(verification=verification(33, 57)),
         f"{AT_47} (high confidence); provisional: 33 and 57 users confirmed it; to verify it, return to 1 user."),
        (knee(verification=verification(None, None, 1)),  # the return comes after the level beyond
         f"{AT_47} (high confidence); provisional until new levels confirm it: hold 33 users for 20–40 s,"
         " then step to 57, then return to 1."),
        (knee(verification=verification(33, 57, 1), provisional=False), f"{AT_47} (high confidence); verified."),
        (knee(verification=verification(33, soak="less_goodput"), confidence="low"),
         f"{CONTRADICTED_AT_47} (low confidence); a later level at 33 users had less goodput than before."),
        (knee(verification=verification(33, 57, 1, soak="failures", back="slower"), confidence="low"),
         f"{CONTRADICTED_AT_47} (low confidence); requests failed at a later level at 33 users"
         " and responses of a later level at 1 user were slower than before."),
        (knee(limit="generator", confidence="medium", provisional=False, users=4321.0, capacity_rps=12345.0),
         "Knee at 4,321 users [43–52] and 12,345/s, limited by the generator, not the service"
         " (medium confidence)."),
        (knee(provisional=False, peak=Peak(users=60, goodput_rps=125, shape="collapse", fall_ratio=0.75)),
         f"{AT_47} (high confidence); beyond 60 users goodput collapses by 75%."),
        (knee("no_knee", users=60.0), "No knee up to 60 users (high confidence)."),
        (knee("at_or_below", users=10.0), "The knee is at or below 10 users, the lowest level: measure fewer users to find it."),
        (knee("at_or_below", users=1.0),
         "The knee is at or below 1 user, the lowest level: a longer think time or offered rates load the service less."),
        (knee("at_or_below", users=1.0, limit="generator"),
         "Limited by the generator at 1 user, the lowest level: the results do not describe the service."),
        (knee("bend", confidence="low"),
         "Goodput falls below linear scaling from 47 users on (low confidence), "
         "but the levels do not show where its maximum begins: no knee yet."),
        (CapacityVerdict(curve=knee().curve, missing=(Missing(kind="levels", count=2),)),
         "Not enough levels to find a knee: measure 2 more user counts."),
        (CapacityVerdict(missing=(Missing(kind="levels", count=3),)),
         "No request succeeded in a settled second of any level: no capacity was measured."),
    ],
)  # fmt: skip
def test_a_capacity_verdict_is_expressed_in_one_sentence(verdict: CapacityVerdict, sentence: str) -> None:
    assert wording.capacity(verdict) == sentence


@pytest.mark.parametrize(
    ("mark", "sentence"),
    [
        (KNEE_MARK, "knee at 47 users [43–52] and 122/s, limited by queueing (high confidence)"),
        (marked(t_s=1.0, key="knee:epoch0", state="open", kind="at_or_below", id="at_or_below", users=1.0, confidence="low",
                evidence={"limit": "generator", "users_high": 1.25}),
         "knee at or below 1 user, the generator's (low confidence)"),
        (msgspec.structs.replace(KNEE_MARK, state="retracted"), "knee at 47 users (high confidence): retracted"),
        (marked(t_s=1.0, key="s", state="open", kind="shift", id="goodput_fell", users=100.0,
              evidence={"at_s": 34.6, "level": 2, "column": "goodput", "before": 170.2, "after": 119.7}),
         "shift: goodput fell from 170 to 120/s at 00:34 (100 users) and stayed there"),
        (marked(t_s=1.0, key="r", state="open", kind="recovery", id="recovered", users=60.0,
              evidence={"from_users": 200.0, "to_users": 60.0, "recovered": True, "after_s": 12.0}),
         "recovery: the service recovered 12 s after stepping down from 200 to 60 users"),
        (marked(t_s=1.0, key="r", state="open", kind="recovery", id="not_recovered", users=60.0,
              evidence={"from_users": 200.0, "to_users": 60.0, "recovered": False, "goodput_ratio": 0.4, "latency_ratio": 3.0}),
         "recovery: the service did not recover after stepping down from 200 to 60 users: goodput 40% and latency 300% of "
         "the earlier level"),
        (Mark(t_s=1.0, key="t", state="open", users=20.0, finding=Stalled(at_s=34.0, seconds=3)),
         "stall: no reply for at least 3 s at 00:34 (20 users); then the service went on as before"),
        (Mark(t_s=1.0, key="h", state="open", users=24.0, finding=RepliesChanged(
              method="GET", name="/items", share_ratio=0.77, size_bytes=41.0, size_before_bytes=620.0, latency_ms=2.0,
              latency_before_ms=102.0)),
         "hint: from 24 users on, up to 77% of the replies of GET /items are about 41 B in 2 ms, not about 620 B in 102 ms: are "
         "they errors? Check what they say"),
    ],
)  # fmt: skip
def test_a_mark_of_the_curve_is_expressed_in_one_line(mark: Mark, sentence: str) -> None:
    assert wording.mark(mark) == sentence


def test_a_mark_with_missing_levels_has_a_second_sentence_about_them() -> None:
    advised = msgspec.structs.replace(KNEE_MARK.finding, missing=(Missing(kind="longer_levels"),))
    mark = msgspec.structs.replace(KNEE_MARK, finding=advised)
    assert wording.mark(mark).endswith("(high confidence). Longer levels would narrow the interval")
    assert wording.journal_mark(mark) == wording.mark(mark)


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (SloVerdict(name="p95_ms", limit=300.0, state="crossed", users=41.2, users_low=40.0, users_high=45.0, goodput_rps=118.0),
         "p95 ≤ 300 ms up to 41 users [40–45] at 118/s"),
        (SloVerdict(name="failure_ratio", limit=0.01, state="kept", users=60.0, users_low=50.0, goodput_rps=118.0),
         "failures ≤ 1% up to at least 60 users at 118/s"),
        (SloVerdict(name="p99_ms", limit=300.0, state="broken", users_high=5.0),
         "p99 ≤ 300 ms is not met at any level, not even at 5 users"),
    ],
)  # fmt: skip
def test_an_objective_is_expressed_in_one_line(verdict: SloVerdict, sentence: str) -> None:
    assert wording.objective(verdict) == sentence


@pytest.mark.parametrize(
    ("known", "ending"),
    [(Verification(state="provisional", steps=()), "queueing"), (Verification(state="verified", steps=()), "queueing, verified")],
)
def test_a_revision_of_a_knee_says_that_it_was_verified(known: Verification, ending: str) -> None:
    found = KneeVerdict(
        kind="knee", users=28.0, users_low=25.0, users_high=31.0, capacity_rps=78.8, limit="queueing", verification=known
    )
    revised = wording.revised(Mark(t_s=125.4, key="knee:epoch0", state="updated", finding=Knee(verdict=found)))
    assert revised == f"knee now 28 [25–31] at 78.8/s, {ending}"


def test_reanalysis_is_told_by_its_counts_and_each_change_by_its_figures() -> None:
    later = msgspec.structs.replace(KNEE_MARK, users=31.0)
    figures = (FigureChange(name="users", recorded=47.0, found=31.0), FigureChange(name="soft_limit", found="errors"))
    changed = MarkChange(kind="changed", key="k", recorded=KNEE_MARK, found=later, figures=figures)
    gone = MarkChange(kind="gone", key="k", recorded=KNEE_MARK)
    assert wording.change(changed) == "changed: knee at 31 users: users 47 → 31, soft limit unknown → errors"
    assert wording.change(gone).startswith("gone: knee at 47 users")
    event = Reanalysed(t_s=0.0, version="2.0", recorded=2, found=1, changes=(changed, gone))
    assert wording.reanalysed(event) == "reanalysed by capexplorer 2.0: 2 marks recorded, 1 now; 0 new, 1 gone, 1 changed"


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (Missing(kind="levels", count=2), "2 more levels at other user counts would give a first result"),
        (Missing(kind="lower_levels", count=2, users_below=20.0), "2 more levels below 20 users would give a baseline"),
        (Missing(kind="higher_levels", users_above=80.0), "1 more level above 80 users would show the maximum"),
        (Missing(kind="between_levels", users_above=40.0, users_below=50.0),
         "1 more level between 40 and 50 users would narrow the knee's interval"),
        (Missing(kind="longer_levels"), "longer levels would narrow the interval"),
        (Missing(kind="return_to_first", users_below=5.0), "a return to 5 users would show whether the service drifts"),
        (Missing(kind="return_to_clean", users_below=5.0), "a return to 5 users would show whether load caused the fall"),
    ],
    ids=lambda value: value.kind if isinstance(value, Missing) else "",
)  # fmt: skip
def test_a_missing_measurement_has_what_it_would_show(wanted: Missing, sentence: str) -> None:
    assert wording.missing(wanted) == sentence

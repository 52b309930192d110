"""From verdicts to marks: what is told, when it is told again, and what imported sessions say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from marked import marked

from capexplorer import wording
from capexplorer.analysis.causes.generator_saturation import is_saturated, own_time_ms
from capexplorer.analysis.detectors import detect
from capexplorer.analysis.epoch.epoch import epochs_of
from capexplorer.analysis.epoch.levels import settling_s
from capexplorer.analysis.mark_publisher import MarkPublisher
from capexplorer.model.events import LevelFigures, Mark, Verdict
from capexplorer.model.findings import Bend, Knee
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeEvidence, KneeVerdict, Missing, Peak, SloVerdict
from capexplorer.session.importers import imported

DATA = Path(__file__).parent.parent / "data"

KNEE = marked(
    t_s=10.0, key="knee:epoch0", state="open", kind="knee", id="knee", users=47.0, confidence="high",
    evidence={"users_low": 43.0, "users_high": 52.0, "capacity_rps": 122.0, "limit": "queueing", "top_slope": 0.1},
)  # fmt: skip


def moved(**changes: Any) -> Mark:
    assert isinstance(KNEE.finding, Knee)
    figures = changes.pop("evidence", {})
    own = {name: value for name, value in figures.items() if name in KneeVerdict.__struct_fields__}
    grounds = msgspec.structs.replace(KNEE.finding.verdict.evidence, **{n: v for n, v in figures.items() if n not in own})
    verdict = msgspec.structs.replace(KNEE.finding.verdict, evidence=grounds, **own)
    return msgspec.structs.replace(KNEE, finding=Knee(verdict=verdict), **changes)


def bent() -> Mark:
    assert isinstance(KNEE.finding, Knee)
    return msgspec.structs.replace(KNEE, finding=Bend(verdict=msgspec.structs.replace(KNEE.finding.verdict, kind="bend")))


ABOUT = ("knee:epoch0",)


@pytest.mark.parametrize(
    ("why", "now", "told"),
    [
        ("the same", KNEE, False),
        ("a hair's breadth", moved(users=47.4, evidence={"capacity_rps": 122.9}), False),
        ("an interval that wobbles", moved(evidence={"users_low": 42.0, "users_high": 54.0}), False),
        ("a reading that only comes along", moved(evidence={"top_slope": 0.2}), False),
        ("other users", moved(users=49.0), True),
        ("another capacity", moved(evidence={"capacity_rps": 126.0}), True),
        ("a narrower interval", moved(evidence={"users_high": 48.0}), True),
        ("another limit", moved(evidence={"limit": "errors"}), True),
        ("another confidence", moved(confidence="medium"), True),
        ("another kind", bent(), True),
        ("another count of levels", moved(evidence={"levels_below": 3}), False),
        ("no longer provisional", moved(evidence={"provisional": False}), True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mark_is_superseded_when_it_changed_materially(why: str, now: Mark, told: bool) -> None:
    publisher = MarkPublisher()
    assert [mark.revision for mark in publisher.update([KNEE], 10.0, about=ABOUT)] == [1]
    again = publisher.update([now], 20.0, about=ABOUT)
    assert [(mark.revision, mark.state, mark.t_s) for mark in again] == ([(2, "updated", 20.0)] if told else [])


def test_small_moves_add_up() -> None:
    publisher = MarkPublisher()
    told = [len(publisher.update([moved(users=47.0 + 0.2 * step)], float(step), about=ABOUT)) for step in range(12)]
    assert sum(told) == 3 and told[0] == 1


def test_the_last_word_is_exact_and_not_told_twice() -> None:
    publisher = MarkPublisher()
    publisher.update([KNEE], 10.0, about=ABOUT)
    last = moved(users=47.1)
    assert [mark.users for mark in publisher.update([last], 20.0, about=ABOUT, exactly=True)] == [47.1]
    assert publisher.update([last], 30.0, about=ABOUT, exactly=True) == ()


def test_a_mark_that_stands_no_more_is_retracted_and_opens_again() -> None:
    publisher = MarkPublisher()
    publisher.update([KNEE], 10.0, about=ABOUT)
    assert [(mark.state, mark.revision) for mark in publisher.update([], 20.0, about=ABOUT)] == [("retracted", 2)]
    assert publisher.update([], 21.0, about=ABOUT) == ()
    assert [(mark.state, mark.revision) for mark in publisher.update([KNEE], 30.0, about=ABOUT)] == [("open", 3)]


def test_a_mark_that_closes_is_told_once_and_opens_again() -> None:
    publisher, over = MarkPublisher(), msgspec.structs.replace(KNEE, state="closed")
    publisher.update([KNEE], 10.0, about=ABOUT)
    assert [(mark.state, mark.revision) for mark in publisher.update([over], 20.0, about=ABOUT)] == [("closed", 2)]
    assert publisher.update([over], 21.0, about=ABOUT, exactly=True) == ()
    assert [(mark.state, mark.revision) for mark in publisher.update([KNEE], 30.0, about=ABOUT)] == [("open", 3)]


def test_marks_of_another_epoch_are_left_alone() -> None:
    publisher = MarkPublisher()
    publisher.update([KNEE], 10.0, about=ABOUT)
    assert publisher.update([], 20.0, about=("knee:epoch1", "knee:epoch00")) == ()


def test_a_verdict_is_told_when_it_says_anything_else() -> None:
    publisher, verdict = MarkPublisher(), Verdict(t_s=1.0)
    assert publisher.verdict(verdict) == verdict
    assert publisher.verdict(msgspec.structs.replace(verdict, t_s=2.0)) is None
    assert publisher.verdict(Verdict(t_s=3.0, recovery_levels=(1,))) is not None
    assert publisher.verdict(Verdict(t_s=3.0, epoch=1)) is not None


def test_figures_are_those_that_are_known_and_json_can_say() -> None:
    grounds = KneeEvidence(top_slope=math.nan, response_ratio=math.inf, levels_below=0, soak_agrees=False)
    found = Knee(verdict=KneeVerdict(kind="knee", users=47.0, limit="errors", evidence=grounds))
    assert found.figures() == {"limit": "errors", "soft": False, "provisional": True, "levels_below": 0, "soak_agrees": False}


# -- the generator


@pytest.mark.parametrize(
    ("why", "figures", "expected"),
    [
        ("nothing measured", {}, None),
        ("idle", {"generator_cpu_ratio": 0.4, "loop_lag_p99_ms": 3.0}, False),
        ("busy alone", {"generator_cpu_ratio": 0.97, "loop_lag_p99_ms": 3.0}, False),
        ("late alone", {"generator_cpu_ratio": 0.4, "loop_lag_p99_ms": 50.0}, False),
        ("busy and late", {"generator_cpu_ratio": 0.97, "loop_lag_p99_ms": 50.0}, True),
        ("waits for a core, and late",
         {"generator_cpu_ratio": 0.64, "generator_run_delay_ratio": 0.36, "loop_lag_p99_ms": 50.0}, True),
        ("waits for a core, and users missing from Little's law",
         {"generator_cpu_ratio": 0.64, "generator_run_delay_ratio": 0.36, "users_mean": 100.0, "throughput_rps": 50.0,
          "response_ms": 500.0, "wait_s": 1.0}, True),
        ("Little's law alone", {"generator_cpu_ratio": 0.4, "users_mean": 100.0, "throughput_rps": 50.0, "response_ms": 500.0,
                                "wait_s": 1.0}, False),
        ("no CPU measured, and late", {"loop_lag_p99_ms": 50.0}, None),
        ("late, users that sleep in their task, and time to spare",
         {"generator_cpu_ratio": 0.14, "generator_run_delay_ratio": 0.23, "loop_lag_p99_ms": 28.0, "users_mean": 20.0,
          "throughput_rps": 227.0, "response_ms": 24.0, "wait_s": 0.0}, False),
        ("Little's law kept", {"generator_cpu_ratio": 0.97, "users_mean": 75.0, "throughput_rps": 50.0, "response_ms": 500.0,
                               "wait_s": 1.0}, False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_generator_is_saturated_by_its_cpu_and_another_ground(
    why: str, figures: dict[str, float], expected: bool | None
) -> None:
    assert is_saturated(LevelFigures(settled=True, **figures)) is expected  # type: ignore[arg-type]


def test_time_that_users_lose_at_low_load_as_well_is_their_own() -> None:
    """A task that sleeps for 60 ms, on a load thread that is busy and keeps up."""
    few = LevelFigures(settled=True, generator_cpu_ratio=0.2, users_mean=5.0, throughput_rps=62.0, response_ms=20.0, wait_s=0.0)
    many = msgspec.structs.replace(few, generator_cpu_ratio=0.96, users_mean=75.0, throughput_rps=930.0, loop_lag_p99_ms=16.0)
    assert own_time_ms([many, few]) == pytest.approx(60.6, abs=0.1)
    assert is_saturated(many) is True
    assert is_saturated(many, own_time_ms([many, few])) is False
    slower = msgspec.structs.replace(many, throughput_rps=600.0)
    assert is_saturated(slower, own_time_ms([slower, few])) is True


def test_a_busy_level_tells_nothing_of_the_users_own_time() -> None:
    busy = LevelFigures(settled=True, generator_cpu_ratio=0.96, users_mean=5.0, throughput_rps=62.0, response_ms=20.0, wait_s=0.0)
    assert own_time_ms([busy]) == own_time_ms([]) == 0.0


# -- imported


def found_in(*names: str) -> tuple[Timeline, dict[str, Mark]]:
    timeline = Timeline(imported([DATA / name for name in names], None, settling_s))
    return timeline, {each.key: each for each in detect(timeline) if isinstance(each, Mark)}


def test_a_table_has_its_knee_marked_at_the_level_that_told() -> None:
    timeline, marks = found_in("tables/soy-a.csv")
    knee = marks["knee:epoch0"]
    assert knee.users == pytest.approx(28, abs=1) and knee.finding.figures()["capacity_rps"] == pytest.approx(213, rel=0.02)
    ends = {level.ended_s: level.users for level in timeline.levels}
    assert ends[knee.t_s] == 43 and "provisional" in knee.finding.figures()


def test_ten_histories_say_what_their_table_says() -> None:
    _, marks = found_in(
        *(f"histories/soy-a-{users}-users_stats_history.csv" for users in (1, 8, 15, 22, 29, 36, 43, 50, 57, 64)[1:])
    )
    assert marks["knee:epoch0"].users == pytest.approx(28, abs=1.5)


def test_a_history_without_a_knee_has_none_but_its_latency_s() -> None:
    timeline, marks = found_in("histories/latency-first_stats_history.csv")
    assert set(marks) == {"latency_knee:epoch0"}
    (epoch,) = epochs_of(timeline)
    verdict = epoch.verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None and verdict.capacity.knee.kind == "no_knee"


# -- words


AT_47 = "Knee at 47 users [43–52] and 122/s, limited by queueing"


def knee(kind: str = "knee", **more: Any) -> CapacityVerdict:
    fields: dict[str, Any] = {
        "users": 47.0, "users_low": 43.0, "users_high": 52.0, "capacity_rps": 122.0, "limit": "queueing", "confidence": "high",
        **more,
    }  # fmt: skip
    curve = CurveFit(low_load_rps_per_user=2.6, low_load_se=0.1, baseline_users=(1.0,))
    return CapacityVerdict(curve=curve, knee=KneeVerdict(kind=kind, **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (knee(), f"{AT_47} (high confidence); provisional: no soak yet."),
        (knee(provisional=False), f"{AT_47} (high confidence)."),
        (knee(evidence=KneeEvidence(soak_agrees=False)),
         f"{AT_47} (high confidence); provisional: a soak disagreed."),
        (knee(evidence=KneeEvidence(soak_agrees=True, return_agrees=False)),
         f"{AT_47} (high confidence); provisional: the return to the first level disagreed."),
        (knee(evidence=KneeEvidence(soak_agrees=True)),
         f"{AT_47} (high confidence); provisional: no return to the first level yet."),
        (knee(limit="generator", confidence="medium", provisional=False, users=4321.0, capacity_rps=12345.0),
         "Knee at 4,321 users [43–52] and 12,345/s, limited by the generator, so the service's knee lies beyond"
         " (medium confidence)."),
        (knee(provisional=False, peak=Peak(users=60, goodput_rps=125, shape="collapse", fall_ratio=0.75)),
         f"{AT_47} (high confidence); beyond 60 users goodput collapses by 75%."),
        (knee("no_knee", users=60.0), "No knee up to 60 users (high confidence)."),
        (knee("at_or_below", users=10.0), "The knee is at or below 10 users, the lowest level: step down to find it."),
        (knee("at_or_below", users=1.0), "The knee is at or below 1 user, the lowest level: step down to find it."),
        (knee("at_or_below", users=1.0, limit="generator"),
         "Limited by the generator at 1 user, the lowest level: nothing is said about the service."),
        (knee("bend", confidence="low"),
         "Goodput falls behind from 47 users on (low confidence), but its ceiling was not seen: no knee yet."),
        (CapacityVerdict(curve=knee().curve, missing=(Missing(kind="levels", count=2),)),
         "Not enough levels to tell a knee: 2 more levels would."),
        (CapacityVerdict(missing=(Missing(kind="levels", count=3),)),
         "Nothing was finished at any level: no capacity was measured."),
    ],
)  # fmt: skip
def test_capacity_is_one_sentence(verdict: CapacityVerdict, said: str) -> None:
    assert wording.capacity(verdict) == said


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (KNEE, "knee at 47 users [43–52] and 122/s, limited by queueing (high confidence)"),
        (marked(t_s=1.0, key="knee:epoch0", state="open", kind="at_or_below", id="at_or_below", users=1.0, confidence="low",
                evidence={"limit": "generator", "users_high": 1.25}),
         "knee at or below 1 user, the generator's (low confidence)"),
        (moved(state="retracted"), "knee at 47 users (high confidence): retracted"),
        (marked(t_s=1.0, key="s", state="open", kind="shift", id="goodput_fell", users=100.0,
              evidence={"at_s": 34.6, "level": 2, "column": "goodput", "before": 170.2, "after": 119.7}),
         "shift: goodput fell for good from 170 to 120/s at 00:34 and 100 users"),
        (marked(t_s=1.0, key="r", state="open", kind="recovery", id="recovered", users=60.0,
              evidence={"from_users": 200.0, "to_users": 60.0, "recovered": True, "after_s": 12.0}),
         "recovery: recovered 12 s after stepping down from 200 to 60 users"),
        (marked(t_s=1.0, key="r", state="open", kind="recovery", id="not_recovered", users=60.0,
              evidence={"from_users": 200.0, "to_users": 60.0, "recovered": False, "goodput_ratio": 0.4, "latency_ratio": 3.0}),
         "recovery: not recovered after stepping down from 200 to 60 users: goodput 40% and latency 300% of what it was"),
    ],
)  # fmt: skip
def test_a_mark_is_one_line(mark: Mark, said: str) -> None:
    assert wording.mark(mark) == said


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (SloVerdict(name="p95_ms", limit=300.0, state="crossed", users=41.2, users_low=40.0, users_high=45.0, goodput_rps=118.0),
         "p95 ≤ 300 ms up to 41 users [40–45] at 118/s"),
        (SloVerdict(name="failure_ratio", limit=0.01, state="kept", users=60.0, users_low=50.0, goodput_rps=118.0),
         "failures ≤ 1% up to at least 60 users at 118/s"),
        (SloVerdict(name="p99_ms", limit=300.0, state="broken", users_high=5.0),
         "p99 ≤ 300 ms is kept at no level, not even at 5 users"),
    ],
)  # fmt: skip
def test_an_objective_is_one_line(verdict: SloVerdict, said: str) -> None:
    assert wording.objective(verdict) == said

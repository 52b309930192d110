"""The first lines of a report: what a user is, the objectives, and the load at which to operate."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from capexplorer import wording
from capexplorer.model.events import Event, Header, LevelClosed, LevelOpened, Verdict
from capexplorer.model.figures import LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.load import OfferedFigures
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import (
    CapacityVerdict,
    KneeVerdict,
    RateCapacity,
    RateLevelVerdict,
    RateObjective,
    RateVerdict,
    SloVerdict,
    Verification,
)
from capexplorer.report.formats import html, markdown
from capexplorer.report.statements import OPERATING_SHARE, opening
from capexplorer.wording import quantities

from .compared import USERS, LevelSpec, events, timeline

KNEE = KneeVerdict(kind="knee", users=25.0, users_low=23.0, users_high=28.0, capacity_rps=76.8)
LEVELS = [LevelSpec(6), LevelSpec(12, p50_ms=30.0), LevelSpec(24), LevelSpec(48)]


def judged(knee: KneeVerdict = KNEE, slo: tuple[SloVerdict, ...] = (), **header: Any) -> Timeline:
    """A session with this verdict."""
    return timeline(LEVELS, more=[Verdict(t_s=40.0, capacity=CapacityVerdict(knee=knee), slo=slo)], **header)


@pytest.mark.parametrize(
    ("wait_s", "words"),
    [
        ({"between": [0.1, 0.5], "constant": None}, "waits 0.1 to 0.5 s after the reply"),
        ({"constant": 0.3}, "waits 0.3 s after the reply"),
        (0.3, "waits 0.3 s after the reply"),
        ({"constant": 0}, "does not wait after the reply"),
        ({"poisson": 2.0}, "waits 2 s after the reply on average"),
        ({"constant_pacing": 1.0}, "waits until 1 s after it was sent"),
        ({"constant_throughput": 2.0}, "waits so that it makes 2/s"),
    ],
)
def test_it_says_what_a_user_is(wait_s: object, words: str) -> None:
    first = opening(judged(profile={"name": "x", "users": {**USERS, "wait_s": wait_s}}))[0]
    assert words in first
    assert "FastHttpUser" in first


def test_users_of_a_locustfile_are_what_it_says() -> None:
    assert "locustfile.py" in opening(judged(profile={"users": {"locustfile": "locustfile.py"}}))[0]


def test_the_operating_load_is_a_share_of_the_knees_lower_end_with_a_measured_p95() -> None:
    found = opening(judged())[-1]
    assert found.startswith("Operate at 18 users or fewer: 80% of the knee's lower end; at 12 users p95 was ")


@pytest.mark.parametrize("knee", [KneeVerdict(kind="no_knee", users=48.0), KneeVerdict(kind="bend", users=20.0)])
def test_without_a_knee_there_is_no_operating_load(knee: KneeVerdict) -> None:
    assert not any("Operate" in each for each in opening(judged(knee)))


def test_each_objective_says_up_to_which_load_it_was_met() -> None:
    crossed = SloVerdict(name="p95_ms", limit=200.0, state="crossed", users=23.0)
    broken = SloVerdict(name="failure_ratio", limit=0.01, state="broken", users_high=6.0)
    said = opening(judged(slo=(crossed, broken)))
    assert any("met up to 23 users" in each for each in said)
    assert any("not met at any load" in each for each in said)
    assert "No objective is set." in opening(judged())


def test_an_objective_that_is_crossed_below_limits_the_operating_load() -> None:
    crossed = SloVerdict(name="p95_ms", limit=200.0, state="crossed", users=14.0, users_low=12.4)
    operating = opening(judged(slo=(crossed,)))[-1]
    assert "12 users" in operating
    assert wording.objective_name(crossed) in operating


@pytest.mark.parametrize(
    ("knee", "slo"),
    [
        (KNEE, (SloVerdict(name="p95_ms", limit=1.0, state="broken", users_high=6.0),)),
        (replace(KNEE, verification=Verification(state="contradicted", steps=())), ()),
    ],
)
def test_no_load_is_proposed_against_an_objective_or_a_contradiction(knee: KneeVerdict, slo: tuple[SloVerdict, ...]) -> None:
    assert not any("Operate" in each for each in opening(judged(knee, slo)))


def test_objectives_that_no_level_could_show_are_not_denied() -> None:
    shown = opening(judged(profile={"users": USERS, "slo": {"p95_ms": 300.0, "p99_ms": None}}))
    assert not any("No objective" in each for each in shown)
    assert any("could not be judged" in each for each in shown)


def test_each_epoch_names_its_operating_load() -> None:
    levels = [*LEVELS, *(LevelSpec(each.users, epoch=1) for each in LEVELS)]
    verdicts = [
        Verdict(t_s=40.0, epoch=epoch, capacity=CapacityVerdict(knee=replace(KNEE, users_low=low)))
        for epoch, low in ((0, 20.0), (1, 40.0))
    ]
    first, second = (each for each in opening(timeline(levels, more=verdicts)) if "perate at" in each)
    assert "0" in first.split(":")[0]
    assert "16 users" in first
    assert "1" in second.split(":")[0]
    assert "32 users" in second


def at_rates(*objectives: RateObjective) -> Timeline:
    """Levels of 20/s and 40/s that are served, and one of 60/s that is not; the capacity is 50/s."""
    rates, p95_ms = (20.0, 40.0, 60.0), (30.0, 80.0, 4000.0)
    found: list[Event] = [event for event in events([], profile={"users": USERS}) if isinstance(event, Header)]
    for index, (per_s, p95) in enumerate(zip(rates, p95_ms, strict=True)):
        figures = LevelFigures(
            settled=True, settled_seconds=8.0, offered=OfferedFigures(offered_per_s=per_s, from_plan_ms=Latency(p95=p95))
        )
        opened = LevelOpened(t_s=20.0 * index, index=index, users=0, spawn_rate=1.0, by="user", offered_per_s=per_s)
        closed = LevelClosed(
            t_s=20.0 * index + 15, index=index, users=0, offered_per_s=per_s, started_s=20.0 * index, settled_s=20.0 * index + 5,
            figures=figures,
        )  # fmt: skip
        found += [opened, closed]
    levels = tuple(
        RateLevelVerdict(
            level=index, offered_per_s=per_s, goodput_per_s=min(per_s, 50.0), goodput_se_per_s=1.0,
            state="kept" if per_s < 50 else "queue_grows", failure_ratio=0.0, dropped_ratio=0.0, growth_per_s=0.0,
        )
        for index, per_s in enumerate(rates)
    )  # fmt: skip
    capacity = RateCapacity(kind="capacity", per_s=50.0, low_per_s=47.5, high_per_s=52.0)
    return Timeline([*found, Verdict(t_s=60.0, rates=RateVerdict(capacity=capacity, levels=levels, objectives=objectives))])


def test_at_offered_rates_it_says_what_is_offered_and_no_think_time() -> None:
    users = opening(at_rates())[0]
    assert "offered rate" in users
    assert "waits 0.1" not in users


def test_the_operating_rate_is_a_share_of_the_capacitys_lower_end_with_a_measured_p95() -> None:
    operating = opening(at_rates())[-1]
    assert quantities.rate(OPERATING_SHARE * 47.5) in operating
    assert quantities.rate(20.0) in operating  # the greatest rate below it that was served
    assert quantities.latency(30.0) in operating


def test_objectives_of_offered_rates_are_named_and_limit_the_operating_rate() -> None:
    crossed = RateObjective(name="p95_ms", limit=60.0, state="crossed", per_s=33.0, low_per_s=25.0, high_per_s=39.0)
    shown = opening(at_rates(crossed))
    assert any(wording.rate_objective_name(crossed) in each and quantities.rate(33.0) in each for each in shown[:-1])
    assert quantities.rate(25.0) in shown[-1]


def test_reports_begin_with_it_after_the_verdict() -> None:
    shown = judged(KNEE)
    text, page = markdown.render(shown).decode(), html.render(shown).decode()
    for sentence in ("A user sends a request", "Operate at 18 users or fewer"):
        assert text.index(sentence) < text.index("## Levels")
        assert page.index(sentence) < page.index("<h2>")


def test_an_open_session_is_no_alarm() -> None:
    page = html.render(timeline(LEVELS, complete=False)).decode()
    assert "snapshot of a running session" in page
    assert 'class="alarm">snapshot' not in page

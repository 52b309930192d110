"""What is required of a simulated service in a run without load: the loads that decide it, its answers as events, its end."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from capexplorer.load.lag import Lag
from capexplorer.model.events import Answered, Command, LevelOpened, Proposed
from capexplorer.model.load import Rate, Users
from capexplorer.model.proposals import Decide
from capexplorer.model.requirements import (
    CapacityRequired,
    FailuresRequired,
    KneeAnswer,
    KneeRequired,
    PercentileRequired,
    Requirement,
)
from capexplorer.run.live_answers import FIGURES_EVERY_S, LiveAnswers
from capexplorer.run.load_control import LoadControl
from capexplorer.run.pump import SuspensionDetector
from capexplorer.steer.plan import parse
from capexplorer.steer.requested_load import Plan
from capexplorer.wording import PLAN_ENDS

from .bare_context import NoWorkers, requested_load
from .knee_search import KneeSearch, Service, queueing
from .run_without_load import RunWithoutLoad


def failing_at_random(users: int) -> tuple[int, float, int]:
    """A service of which a tenth of the requests fails."""
    return 9 * users, 50.0, users


class Deciding(KneeSearch):
    """A run without load whose driver decides what is required."""

    def __init__(self, path: Path, *asked: Requirement, service: Service = queueing) -> None:
        super().__init__(path, service)
        self.answers = LiveAnswers(self.run.context)
        for each in asked:
            self.answers.ask(each)

    def tick(self) -> None:
        self.answers.ticked()
        super().tick()

    def decide(self, seconds: int = 400) -> str:
        """Let the driver decide; the sentence of its end."""
        self.begin("require")
        self.tick()
        for _ in range(seconds):
            if self.finished:
                return self.finished[0]
            self.add_second()
        return ""


SLOW_AT_80 = PercentileRequired(50.0, 300.0, Users(80))
"""The queueing service takes 400 ms there, and 100 ms at 20 users. The median is decided soonest."""
QUICK_AT_20 = PercentileRequired(50.0, 300.0, Users(20))


def test_each_load_is_left_as_soon_as_it_is_decided_and_the_end_says_the_answers(tmp_path: Path) -> None:
    run = Deciding(tmp_path / "loads.jsonl", SLOW_AT_80, QUICK_AT_20)
    sentence = run.decide()
    assert [users for users, _ in run.levels()] == [20, 80], "from low to high; the last one stays"
    assert [each.state for each in run.run.timeline.answers] == ["not_met", "met"], "in the order in which it was asked"
    command = run.commands()[-1]
    assert (command.name, command.args["task"], command.args["why"]) == ("autopilot", "require", "decided")
    assert (command.args["met"], command.args["not_met"]) == (1, 1)
    assert "1 met" in sentence
    assert run.run.now_s < 120
    run.run.end()


@pytest.mark.parametrize(("users", "state"), [(30.0, "met"), (70.0, "not_met")])
def test_a_knee_is_searched_for_until_the_question_is_decided(tmp_path: Path, users: float, state: str) -> None:
    run, whole = Deciding(tmp_path / "knee.jsonl", KneeRequired(users)), KneeSearch(tmp_path / "whole.jsonl")
    run.decide()
    whole.run_autopilot()
    assert run.levels()[-1] == (1, "autopilot"), "back to the lowest load: a search may have overloaded the service"
    assert [each.state for each in run.run.timeline.answers] == [state]
    assert run.run.now_s < whole.run.now_s, "a search that verifies the knee takes longer"
    run.run.end()
    whole.run.end()


def test_a_capacity_is_searched_for_by_rate_from_half_of_the_required_one(tmp_path: Path) -> None:
    run = Deciding(tmp_path / "capacity.jsonl", CapacityRequired(140.0))
    run.begin("require")
    run.tick()
    assert run.requested_load.load == Rate(70.0)
    run.run.end()


def test_what_stays_open_ends_when_the_time_is_spent(tmp_path: Path) -> None:
    run = Deciding(tmp_path / "open.jsonl", FailuresRequired(0.1, Users(20)), service=failing_at_random)
    run.decide(400)
    command = run.commands()[-1]
    assert (command.args["end"], command.args["why"], command.args["undecided"]) == ("gave_up", "within", 1)
    assert 299 <= run.run.now_s <= 303
    run.run.end()


class Starved(Deciding):
    """A run whose process gets a CPU for 60 ms of each second, and waits for one in the others. The service does not fail."""

    def __init__(self, path: Path, *asked: Requirement) -> None:
        super().__init__(path, *asked, service=failing_at_random)

        def now_s() -> float:
            return self.run.now_s

        self.suspension = SuspensionDetector(now_s, now_s, lambda: 0.06 * now_s(), lambda: 0.94 * now_s())

    def tick(self) -> None:
        if self.suspension.look(Lag(900.0, 900.0, 900.0)):
            self.run.levels.reopen(load_continues=True)
        super().tick()


def test_a_load_is_one_level_however_rarely_the_generator_gets_a_cpu(tmp_path: Path) -> None:
    run = Starved(tmp_path / "starved.jsonl", FailuresRequired(0.1, Users(20)))
    run.decide()
    assert run.levels() == [(20, "autopilot")]
    assert (run.commands()[-1].args["why"], run.commands()[-1].args["undecided"]) == ("within", 1)
    run.answers.end()
    assert run.run.context.outcome.exit_code == 5
    run.run.end()


def test_answers_are_events_when_a_state_changes_and_figures_now_and_then(tmp_path: Path) -> None:
    run = Deciding(tmp_path / "events.jsonl", QUICK_AT_20)
    run.decide()
    run.answers.end()
    run.run.take()
    events = [event for event in run.run.shown if isinstance(event, Answered)]
    assert [events[0].answers[0].state, events[-1].answers[0].state] == ["undecided", "met"]
    gaps = [
        later.t_s - each.t_s
        for each, later in zip(events, events[1:], strict=False)
        if each.answers[0].state == later.answers[0].state
    ]
    assert min(gaps[:-1], default=FIGURES_EVERY_S) >= FIGURES_EVERY_S
    assert run.run.context.outcome.exit_code == 0
    run.run.end()


def test_a_decided_answer_stays_until_the_opposite_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Deciding(tmp_path / "stays.jsonl", KneeRequired(30.0))
    run.run.step(3)
    met = KneeAnswer(required=KneeRequired(30.0), state="met", users=40.0)
    open_again, not_met = replace(met, state="undecided"), replace(met, state="not_met")
    for found, shown in ((met, met), (open_again, met), (not_met, not_met), (open_again, not_met)):
        monkeypatch.setattr(run.answers._requirements, "answers", lambda _, found=found: (found,))
        run.run.add_second(*queueing(3))
        run.answers.ticked()
        assert run.run.timeline.answers == (shown,)
    run.run.end()


def test_what_is_required_already_is_taken_back(tmp_path: Path) -> None:
    run = Deciding(tmp_path / "back.jsonl", QUICK_AT_20, SLOW_AT_80)
    run.answers.ask(QUICK_AT_20)
    assert [each.required for each in run.run.timeline.answers] == [SLOW_AT_80]
    run.answers.ask(SLOW_AT_80)
    assert run.run.timeline.answers == ()
    assert not run.answers.has_open
    run.run.end()


@pytest.mark.parametrize(
    ("asked", "exit_code"),
    [
        ((QUICK_AT_20,), 0),
        ((QUICK_AT_20, SLOW_AT_80), 3),
        ((QUICK_AT_20, KneeRequired(30.0)), 5),
        ((SLOW_AT_80, KneeRequired(30.0)), 3),
    ],
)
def test_the_answers_decide_the_exit_code(tmp_path: Path, asked: tuple[Requirement, ...], exit_code: int) -> None:
    run = Deciding(tmp_path / "code.jsonl", *asked)
    for users in (20, 80):
        run.run.step(users)
        for _ in range(40):
            run.run.add_second(*queueing(users))
            run.answers.ticked()
    run.answers.end()
    assert run.run.context.outcome.exit_code == exit_code
    run.run.context.outcome.fail("target", "the target has died", 4)
    assert run.run.context.outcome.exit_code == 4, "a failure of the run comes first"
    run.run.end()


def test_a_person_is_proposed_the_load_that_decides(tmp_path: Path) -> None:
    run = Deciding(tmp_path / "by-hand.jsonl", QUICK_AT_20)
    run.run.step(3)
    run.add_second()
    run.run.take()
    assert [event.proposal for event in run.run.shown if isinstance(event, Proposed)][-1] == Decide(QUICK_AT_20, Users(20))
    run.run.step(20)
    for _ in range(40):
        run.add_second()
    run.run.take()
    assert not isinstance([event for event in run.run.shown if isinstance(event, Proposed)][-1].proposal, Decide)
    assert [event.users for event in run.run.shown if isinstance(event, LevelOpened)] == [3, 20]
    run.run.end()


def test_after_a_step_by_hand_the_driver_decides_nothing(tmp_path: Path) -> None:
    run = Deciding(tmp_path / "taken.jsonl", QUICK_AT_20)
    run.begin("require")
    run.tick()
    run.requested_load.step(Users(3))
    run.driver.taken_over("user")
    run.run.levels.step(Users(3), "user", 1.0)
    for _ in range(30):
        run.add_second()
    assert run.levels() == [(20, "autopilot"), (3, "user")]
    assert run.finished == []
    run.run.end()


def planned(path: Path, within_s: float | None, *asked: Requirement) -> tuple[RunWithoutLoad, LoadControl]:
    """A run whose plan holds 20 users for ten minutes."""
    run = RunWithoutLoad(path)
    options = dataclasses.replace(
        run.context.options, steps=parse("20:10m, 80:1m", "--plan", 100), requirements=asked, within_s=within_s
    )
    context = replace(run.context, options=options)
    control = LoadControl(context, requested_load(driver=Plan(), spawn_rate=100.0), NoWorkers())
    run.levels = control.levels
    control.begin(has_shape=False)
    return run, control


@pytest.mark.parametrize(
    ("asked", "within_s", "ended"), [(QUICK_AT_20, None, "decided"), (SLOW_AT_80, 20.0, "within"), (SLOW_AT_80, None, None)]
)
def test_a_plan_ends_once_all_is_decided_or_its_time_is_spent(
    tmp_path: Path, asked: Requirement, within_s: float | None, ended: str | None
) -> None:
    run, control = planned(tmp_path / "plan.jsonl", within_s, asked)
    for _ in range(60):
        if run.context.outcome.reason is None:
            run.add_second(*queueing(20))
            control.ticked()
    commands = [event.args for event in run.take() if isinstance(event, Command) and event.name == "plan"]
    assert [args["why"] for args in commands] == ([ended] if ended else [])
    assert run.context.outcome.reason == (PLAN_ENDS[ended] if ended else None)
    run.end()

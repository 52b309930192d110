"""Experiments of a live run: their levels, and the restarts of the target before and after those that change its slots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from capexplorer.model.controls import Param
from capexplorer.model.events import Target, TargetState
from capexplorer.model.experiments import Experiment
from capexplorer.model.load import NO_LOAD, Users
from capexplorer.run.load_control import LoadControl
from capexplorer.steer.experiment_search import LASTS_MOST_S, Able, Slots, is_over, other_slots
from capexplorer.steer.plan import parse
from capexplorer.steer.requested_load import Autopilot, Plan

from .bare_context import NoWorkers, requested_load
from .run_without_load import RunWithoutLoad

ALONE = Experiment(name="alone", endpoint="GET /a")
SLOTS = Experiment(name="slots", param="pool", before=4, after=6)


class Experimenting:
    """A run whose target restarts when it is asked to, and then is `ready` or not."""

    def __init__(self, path: Path) -> None:
        self.run = RunWithoutLoad(path)
        self.requested_load = requested_load(NO_LOAD)
        self.changes: list[Mapping[str, Param]] = []
        """What each restart changed."""
        self.control = LoadControl(self.run.context, self.requested_load, NoWorkers(), self.restart)
        self.run.levels = self.control.levels
        self.run.sink.emit(Target(t_s=0.0, state="starting", params={"pool": 4, "threads": 16}))
        self.run.sink.emit(Target(t_s=0.0, state="ready", pid=7))
        self.control.begin(has_shape=False)

    def restart(self, changed: Mapping[str, Param]) -> None:
        self.changes.append(dict(changed))
        self.run.sink.emit(Target(t_s=0.0, state="starting", params={"pool": 4, "threads": 16, **changed}))

    def ready(self) -> None:
        self.run.sink.emit(Target(t_s=0.0, state="ready", pid=8))
        self.control.begin(has_shape=False)

    def by_hand(self, users: int, experiment: Experiment | None = None) -> None:
        self.control.open_level(Users(users), "user", self.requested_load.step(Users(users)), experiment=experiment)

    def pass_seconds(self, seconds: float) -> None:
        """As long as a level is open."""
        for _ in range(round(seconds)):
            if self.control.levels.opened is not None:
                self.run.add_second(10)
                self.control.ticked()

    @property
    def levels(self) -> list[tuple[int, Experiment | None]]:
        """(users, experiment) of each level with users."""
        return [(each.users, each.opened.experiment) for each in self.run.timeline.levels if each.users]


@pytest.fixture
def made(tmp_path: Path) -> Experimenting:
    return Experimenting(tmp_path / "run.jsonl")


def test_an_experiment_by_hand_opens_a_level_and_the_next_step_ends_it(made: Experimenting) -> None:
    made.by_hand(30, ALONE)
    made.by_hand(10)
    assert made.levels == [(30, ALONE), (10, None)]
    assert made.changes == []


def test_other_slots_restart_the_target_and_the_level_opens_once_it_is_ready(made: Experimenting) -> None:
    made.by_hand(20)
    made.by_hand(30, SLOTS)
    assert made.changes == [{"pool": 6}]
    assert made.run.timeline.levels[-1].closed is not None
    assert not made.requested_load.is_open
    made.ready()
    assert made.levels == [(20, None), (30, SLOTS)]
    assert {each.opened.epoch for each in made.run.timeline.levels} == {0}, "the verdict of the knee stays the present one"


ENDS: dict[str, Callable[[Experimenting], object]] = {
    "a step by hand": lambda made: made.by_hand(10),
    "a plan": lambda made: made.control.begin_plan(parse("10:9s", "plan", 99), made.requested_load.hand_to(Plan())),
    "the autopilot": lambda made: made.control.switch_autopilot(made.requested_load.hand_to(Autopilot()), "knee"),
    "nothing for long": lambda made: made.pass_seconds(LASTS_MOST_S),
    "to zero": lambda made: made.control.to_zero("guard"),
}


@pytest.mark.parametrize("end", ENDS)
def test_whatever_ends_the_experiment_the_target_has_its_own_slots_before_another_level_opens(
    made: Experimenting, end: str
) -> None:
    made.by_hand(30, SLOTS)
    made.ready()
    ENDS[end](made)
    assert made.changes == [{"pool": 6}, {}]
    assert made.levels == [(30, SLOTS)]
    assert not made.requested_load.is_open
    made.ready()
    assert made.changes == [{"pool": 6}, {}]
    assert made.run.timeline.levels[-1].closed is None
    assert made.run.timeline.levels[-1].opened.experiment is None


def test_from_one_number_of_slots_to_another_the_target_restarts_once(made: Experimenting) -> None:
    made.by_hand(30, SLOTS)
    made.ready()
    threads = Experiment(name="slots", param="threads", before=16, after=24)
    made.by_hand(30, threads)
    made.ready()
    assert made.changes == [{"pool": 6}, {"threads": 24}]
    assert made.levels == [(30, SLOTS), (30, threads)]


@pytest.mark.parametrize("state", ["failed", "died"])
def test_a_target_that_fails_with_other_slots_gets_its_own_and_the_experiment_is_not_proposed_again(
    made: Experimenting, state: TargetState
) -> None:
    made.by_hand(20)
    made.pass_seconds(1)
    made.by_hand(30, SLOTS)
    if state == "died":
        made.ready()
    made.run.sink.emit(Target(t_s=0.0, state=state, params={"pool": 6, "threads": 16}))
    made.control.ticked()
    assert made.changes == [{"pool": 6}, {}]
    made.ready()
    assert made.levels[-1] == (30, None)
    able = Able(slots=(Slots("pool"), Slots("threads")))
    assert [each.param for each in other_slots(made.run.timeline, 0, able)] == ["threads"]


def test_a_person_who_restarts_the_target_ends_the_experiment(made: Experimenting) -> None:
    made.by_hand(30, SLOTS)
    made.ready()
    made.control.pause()
    made.ready()
    assert made.levels == [(30, SLOTS), (30, None)]
    assert made.changes == [{"pool": 6}], "the person's restart is enough"


def test_an_experiment_that_never_settles_ends_after_twenty_seconds(made: Experimenting) -> None:
    made.by_hand(30, ALONE)
    level = made.run.timeline.levels[-1]
    assert not is_over(level, level.opened.t_s + 19.0)
    assert is_over(level, level.opened.t_s + 20.0)

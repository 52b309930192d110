"""Experiments of a live run: their levels, and the restart of the target for those that change its slots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from capexplorer.model.controls import Param
from capexplorer.model.events import Target
from capexplorer.model.experiments import Experiment
from capexplorer.model.load import NO_LOAD, Users
from capexplorer.run.load_control import LoadControl
from capexplorer.steer.experiment_search import is_over

from .bare_context import NoWorkers, requested_load
from .run_without_load import RunWithoutLoad

ALONE = Experiment(name="alone", endpoint="GET /a")
SLOTS = Experiment(name="slots", param="pool", before=4, after=6, epoch=0)


class Experimenting:
    """A run whose target restarts as soon as it is asked to."""

    def __init__(self, path: Path) -> None:
        self.run = RunWithoutLoad(path)
        self.requested_load = requested_load(NO_LOAD)
        self.restarted: list[Mapping[str, Param]] = []
        self.control = LoadControl(self.run.context, self.requested_load, NoWorkers(), self.restart)
        self.run.levels = self.control.levels
        self.run.sink.emit(Target(t_s=0.0, state="starting", params={"pool": 4, "threads": 16}))
        self.run.sink.emit(Target(t_s=0.0, state="ready", pid=7))
        self.control.begin(has_shape=False)

    def restart(self, params: Mapping[str, Param]) -> None:
        self.restarted.append(dict(params))
        self.run.sink.emit(Target(t_s=0.0, state="starting", epoch=1, params=dict(params)))

    def ready(self) -> None:
        self.run.sink.emit(Target(t_s=0.0, state="ready", epoch=1, pid=8))
        self.control.begin(has_shape=False)

    def by_hand(self, users: int, experiment: Experiment) -> None:
        self.control.try_experiment(Users(users), self.requested_load.step(Users(users)), experiment)


@pytest.fixture
def made(tmp_path: Path) -> Experimenting:
    return Experimenting(tmp_path / "run.jsonl")


def test_an_experiment_by_hand_opens_a_level_and_the_next_step_ends_it(made: Experimenting) -> None:
    made.by_hand(30, ALONE)
    made.control.open_level(Users(10), "user", made.requested_load.step(Users(10)))
    assert [(each.users, each.opened.experiment, each.opened.by) for each in made.run.timeline.levels[1:]] == [
        (30, ALONE, "user"),
        (10, None, "user"),
    ]


def test_other_slots_restart_the_target_and_the_level_opens_once_it_is_ready(made: Experimenting) -> None:
    made.by_hand(30, SLOTS)
    assert made.restarted == [{"pool": 6, "threads": 16}]
    assert made.run.timeline.levels[-1].closed is not None
    assert not made.requested_load.is_open
    made.ready()
    level = made.run.timeline.levels[-1]
    assert (level.users, level.opened.experiment, level.opened.epoch) == (30, SLOTS, 1)


def test_the_experiment_of_a_restart_is_made_once(made: Experimenting) -> None:
    made.by_hand(30, SLOTS)
    made.ready()
    made.control.pause()
    made.ready()
    assert [each.opened.experiment for each in made.run.timeline.levels[-2:]] == [SLOTS, None]


def test_an_experiment_that_never_settles_ends_after_twenty_seconds(made: Experimenting) -> None:
    made.by_hand(30, ALONE)
    level = made.run.timeline.levels[-1]
    assert not is_over(level, level.opened.t_s + 19.0)
    assert is_over(level, level.opened.t_s + 20.0)

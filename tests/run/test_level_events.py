"""Levels of a run are opened again at the same load: after a suspension of the process, or when workers come and go."""

from __future__ import annotations

import pytest
from kit.scenario import HEADER

from capexplorer.load.recorder import RecordedTick
from capexplorer.model.events import EndpointTick, Event, LevelClosed, LevelOpened
from capexplorer.model.load import Load, OfferedTick, Rate, Users
from capexplorer.run.live_levels import LiveLevels

from .bare_context import VirtualPump, bare_context, requested_load


class Levels:
    """Levels at 5 users or at 20 iterations a second."""

    def __init__(self, load: Load) -> None:
        self.load, self.pump = load, VirtualPump()
        context = bare_context(self.pump)
        self.sink = context.sink
        self.sink.emit(HEADER)
        self.levels = LiveLevels(context, requested_load(load, is_open=True))
        self.levels.step(load, "plan", 10.0)

    def settled(self, seconds: int) -> list[bool]:
        """Whether each of so many further seconds counts in the figures of its level."""
        return [self._second() for _ in range(seconds)]

    def _second(self) -> bool:
        began_s = self.pump.seconds
        self.pump.seconds += 1.0
        offered = OfferedTick(planned=20, finished=20) if isinstance(self.load, Rate) else None
        endpoints = (EndpointTick(name="/a", requests=20),)
        tick = RecordedTick(
            t_s=self.pump.seconds, duration_s=1.0, users=5, endpoints=endpoints, all_latency_sum_ms=200.0, offered=offered
        )
        return self.levels.tick(began_s, self.pump.seconds, tick)[1]

    def events(self) -> list[Event]:
        return [event for event in self.sink.take() if isinstance(event, LevelOpened | LevelClosed)]


@pytest.mark.parametrize("load", [Users(5), Rate(20.0)], ids=["users", "an offered rate"])
def test_a_level_whose_load_continues_settles_again(load: Load) -> None:
    run = Levels(load)
    run.levels.spawned(0.0)
    assert run.settled(4) == [False, False, True, True]
    run.levels.reopen(load_continues=True)
    assert run.settled(4) == [False, False, True, True]
    assert [type(event) for event in run.events()] == [LevelOpened, LevelClosed, LevelOpened]


@pytest.mark.parametrize("load_continues", [False, True])
def test_a_rate_that_is_not_offered_yet_does_not_settle(load_continues: bool) -> None:
    run = Levels(Rate(20.0))
    if not load_continues:
        run.levels.spawned(0.0)
        run.settled(4)
    run.levels.reopen(load_continues=load_continues)
    assert run.settled(8) == [False] * 8


def test_a_level_opened_again_has_the_load_of_the_one_before() -> None:
    run = Levels(Rate(20.0))
    run.levels.reopen("worker_lost")
    before, closed, after = run.events()
    assert isinstance(before, LevelOpened)
    assert isinstance(after, LevelOpened)
    assert isinstance(closed, LevelClosed)
    assert closed.void == "worker_lost"
    assert (after.load, after.by) == (before.load, before.by) == (Rate(20.0), "plan")


def test_a_level_that_ends_before_it_settles_has_the_time_until_then() -> None:
    """Its users wait for 4 s between requests of 10 ms, and two such cycles are left out."""
    run = Levels(Users(5))
    run.levels.spawned(0.0)
    for ended_s in (1.0, 2.0):
        endpoints = (EndpointTick(name="/a", requests=5),)
        tick = RecordedTick(
            t_s=ended_s, duration_s=1.0, users=5, endpoints=endpoints, all_latency_sum_ms=50.0, waits=5, wait_sum_s=20.0
        )
        run.levels.tick(ended_s - 1, ended_s, tick)
        run.pump.seconds = ended_s
    run.levels.close()
    closed = run.events()[-1]
    assert isinstance(closed, LevelClosed)
    assert closed.settling_s == pytest.approx(8.02)

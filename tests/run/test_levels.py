"""The levels of a run: opened, settled, closed, and opened again at the same load after a suspension or a change of workers."""

from __future__ import annotations

import pytest

from capexplorer.load.recorder import RecordedTick
from capexplorer.model.events import By, EndpointTick, LevelClosed, LevelOpened, Phase, Sample, Target
from capexplorer.model.load import Load, OfferedTick, Rate, Users
from capexplorer.run.live_levels import LiveLevels

from .bare_context import VirtualPump, bare_context, requested_load

AT_20_PER_S = OfferedTick(planned=20, finished=20)


class Levels:
    """The levels of a run, in a time that goes on by seconds."""

    def __init__(self) -> None:
        self.pump = VirtualPump()
        self.context = bare_context(self.pump)
        self.load = requested_load(is_open=True)
        self.live = LiveLevels(self.context, self.load)

    def open(self, t_s: float, load: Load, by: By = "user", *, ramp: bool = False) -> LevelOpened:
        self.pump.seconds = t_s
        self.load.step(load)
        self.live.step(load, by, 10.0, ramp=ramp)
        return self.context.timeline.levels[-1].opened

    def close(self, t_s: float) -> LevelClosed | None:
        self.pump.seconds = t_s
        self.context.sink.take()
        self.live.close()
        return next((event for event in self.context.sink.take() if isinstance(event, LevelClosed)), None)

    def second(
        self, t_s: float, users: int, requests: int = 10, offered: OfferedTick | None = None, wait_s: float = 0.1
    ) -> tuple[Phase, bool]:
        """A second that ends at `t_s`: its phase, and whether it is settled."""
        endpoints = (EndpointTick(name="/a", method="GET", requests=requests, latency_sum_ms=10.0 * requests),)
        counts = RecordedTick(
            t_s=t_s, duration_s=1.0, users=users, endpoints=endpoints, all_latency_sum_ms=10.0 * requests, waits=requests,
            wait_sum_s=wait_s * requests, offered=offered,
        )  # fmt: skip
        self.pump.seconds = t_s
        phase, settled = self.live.tick(t_s - 1, t_s, counts)
        self.context.emit(
            Sample(
                t_s=t_s, duration_s=1.0, level=self.live.index, users=users, wanted=users, phase=phase, settled=settled,
                endpoints=endpoints, work=float(requests), offered=offered,
            )
        )  # fmt: skip
        return phase, settled


def test_levels_are_numbered_and_have_the_figures_of_their_own_seconds() -> None:
    levels = Levels()
    assert levels.close(0.0) is None
    first = levels.open(0.0, Users(10))
    levels.live.spawned(0.5)
    settled = {t_s: levels.second(t_s, 10)[1] for t_s in (1.0, 2.0, 3.0, 4.0)}
    assert settled == {1.0: False, 2.0: False, 3.0: False, 4.0: True}
    ended = levels.close(4.2)
    assert ended is not None
    assert first.index == ended.index == 0
    assert (ended.started_s, ended.settled_s) == (0.0, 3.0)
    assert (ended.figures.requests, ended.figures.settled_seconds) == (10, 1.0)
    assert levels.open(4.2, Users(20), "plan").index == 1
    assert levels.live.phase == "spawning"
    assert levels.second(5.0, 10) == ("spawning", False)
    ended = levels.close(6.0)
    assert ended is not None
    assert (ended.figures.settled, ended.settled_s, ended.figures.throughput_rps) == (False, None, None)
    assert levels.close(7.0) is None


def test_a_ramp_never_settles_and_has_bins() -> None:
    levels = Levels()
    levels.open(0.0, Users(1), "plan", ramp=True)
    levels.live.spawned(0.1)
    assert {levels.second(float(t), t)[1] for t in range(1, 9)} == {False}
    ended = levels.close(9.0)
    assert ended is not None
    assert ended.figures.goodput_rps is None
    assert [each.users for each in ended.bins] == [float(n) for n in range(1, 9)]
    assert sum(each.figures.requests for each in ended.bins) == 80


def test_levels_have_the_epoch_in_which_they_open() -> None:
    levels = Levels()
    assert levels.open(0.0, Users(1)).epoch == 0
    levels.context.emit(Target(t_s=1.0, state="stopping", epoch=1))
    assert levels.open(1.0, Users(1)).epoch == 1


def test_a_rate_after_overload_settles_once_the_backlog_that_it_queued_itself_has_gone() -> None:
    """After 120/s a service that completes 77/s works off 600 iterations at 40/s in 16 s; the last of these it planned itself."""
    levels = Levels()

    def second(t_s: float, rate: float, in_flight: int, finished: int) -> bool:
        offered = OfferedTick(
            offered_per_s=rate, planned=round(rate), finished=finished, running=in_flight, from_plan_sum_ms=60.0 * finished
        )
        return levels.second(t_s, 9, finished, offered)[1]

    def rate(t_s: float, per_s: float) -> None:
        levels.open(t_s, Rate(per_s))
        levels.live.spawned(t_s)

    rate(0.0, 40.0)
    assert [second(t_s, 40.0, 2, 40) for t_s in (1.0, 2.0, 3.0, 4.0)] == [False, False, True, True]
    rate(4.0, 120.0)
    second(5.0, 120.0, 600, 77)
    rate(5.0, 40.0)
    drains = [second(6.0 + passed, 40.0, max(2, 600 - 37 * (passed + 1)), 77) for passed in range(20)]
    assert drains == [False] * 16 + [True] * 4


# -- opened again


def settled(levels: Levels, load: Load, seconds: int) -> list[bool]:
    """Whether each of so many further seconds of 20 requests of 10 ms counts in the figures of its level."""
    first_s, offered = levels.pump.seconds, AT_20_PER_S if isinstance(load, Rate) else None
    return [levels.second(first_s + second, 5, 20, offered)[1] for second in range(1, seconds + 1)]


@pytest.mark.parametrize("load", [Users(5), Rate(20.0)], ids=["users", "an offered rate"])
def test_a_level_whose_load_continues_settles_again(load: Load) -> None:
    levels = Levels()
    levels.open(0.0, load)
    levels.live.spawned(0.0)
    assert settled(levels, load, 4) == [False, False, True, True]
    levels.live.reopen(load_continues=True)
    assert settled(levels, load, 4) == [False, False, True, True]
    assert [level.closed is not None for level in levels.context.timeline.levels] == [True, False]


@pytest.mark.parametrize("load", [Users(5), Rate(20.0)], ids=["users", "an offered rate"])
def test_a_level_in_which_the_same_load_goes_on_counts_from_its_first_whole_second(load: Load) -> None:
    levels = Levels()
    levels.open(0.0, load)
    levels.live.spawned(0.0)
    assert settled(levels, load, 3) == [False, False, True]
    levels.live.go_on("plan", stacks=True)
    assert settled(levels, load, 1) == [True]
    levels.pump.seconds += 0.4
    levels.live.go_on("plan")
    levels.pump.seconds -= 0.4
    assert settled(levels, load, 2) == [False, True]
    assert [level.opened.stacks for level in levels.context.timeline.levels] == [False, True, False]


@pytest.mark.parametrize("load_continues", [False, True])
def test_a_rate_that_is_not_offered_yet_does_not_settle(load_continues: bool) -> None:
    levels = Levels()
    levels.open(0.0, Rate(20.0))
    if not load_continues:
        levels.live.spawned(0.0)
        settled(levels, Rate(20.0), 4)
    levels.live.reopen(load_continues=load_continues)
    assert settled(levels, Rate(20.0), 8) == [False] * 8


def test_a_level_opened_again_has_the_load_of_the_one_before() -> None:
    levels = Levels()
    levels.open(0.0, Rate(20.0), "plan")
    levels.live.reopen("worker_lost")
    before, after = levels.context.timeline.levels
    assert before.void == "worker_lost"
    assert (after.load, after.opened.by) == (before.load, before.opened.by) == (Rate(20.0), "plan")


def test_a_level_that_ends_before_it_settles_has_the_time_until_then() -> None:
    """Its users wait for 4 s between requests of 10 ms, and two such cycles are left out."""
    levels = Levels()
    levels.open(0.0, Users(5))
    levels.live.spawned(0.0)
    for t_s in (1.0, 2.0):
        levels.second(t_s, 5, requests=5, wait_s=4.0)
    closed = levels.close(2.0)
    assert closed is not None
    assert closed.settling_s == pytest.approx(8.02)

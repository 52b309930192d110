"""Stacks of a simulated service are sampled in levels of their own: in plans, at the knee, by key; what ends a sampling early."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from capexplorer.load.engine import Spawned
from capexplorer.model.controls import Param
from capexplorer.model.events import Command, LevelOpened, Proposed, StacksSampled, Target
from capexplorer.model.experiments import Experiment
from capexplorer.model.load import NO_LOAD, Users
from capexplorer.model.stacks import Frame, SampledStacks, Stack
from capexplorer.run import stack_sampling
from capexplorer.run.load_control import LoadControl
from capexplorer.run.options import Task
from capexplorer.stacks.messages import Answer, Ask
from capexplorer.steer.plan import parse
from capexplorer.steer.requested_load import Autopilot, Manual, Plan
from capexplorer.target.spec import ParamSpec, TargetSpec

from .bare_context import NoWorkers, requested_load
from .knee_search import queueing
from .run_without_load import RunWithoutLoad

PID = 7
SAMPLED = SampledStacks(
    runtime="python", clock="wall", tool="py-spy 0.4.1", pids=(PID,), seconds=10.0, frames=(Frame("acquire", "db.py", 41),),
    stacks=(Stack((0,), 7.5),),
)  # fmt: skip


class Sampler:
    """In place of the process that samples: it answers after the seconds that it was asked for, in the run's time."""

    answers = True

    def __init__(self, run: Sampling) -> None:
        self.run, self.is_open, self.asked = run, True, list[Ask]()
        self.began_s = run.now_s
        self.has_ended = False

    def send(self, line: bytes) -> None:
        self.asked.append(msgspec.json.decode(line, type=Ask))

    def take(self) -> list[bytes]:
        if not self.answers or self.run.now_s < self.began_s + self.asked[0].seconds:
            return []
        return [msgspec.json.encode(Answer(sampled=(SAMPLED,)))]

    def end(self) -> None:
        self.has_ended = True


class Sampling(RunWithoutLoad):
    """A run of the queueing service, whose load control and samplers are those of a real run."""

    def __init__(
        self,
        path: Path,
        plan: str = "",
        task: Task | None = None,
        *,
        at_knee: bool = False,
        explains: bool = False,
        pid: int | None = PID,
        pool: int | None = None,
    ) -> None:
        """`pool`: parameter of a target that can be restarted."""
        super().__init__(path)
        self.samplers: list[Sampler] = []
        self.restarts: list[Mapping[str, Param]] = []
        """What each restart of the target changed."""
        self.is_starting = False
        steps = parse(plan, "--plan", 1_000) if plan else ()
        params = {"pool": ParamSpec(default=pool, min=1)} if pool is not None else {}
        spec = TargetSpec(title="queueing", folder=path.parent, command=("queueing",), params=params)
        options = dataclasses.replace(
            self.context.options, steps=steps, autopilot=task, profile_at_knee=at_knee, explains=explains, spec=spec
        )
        driver = Plan() if plan else Manual()
        self.requested_load = requested_load(NO_LOAD, driver=driver, spawn_rate=100.0)
        context = replace(self.context, options=options)
        self.control = LoadControl(context, self.requested_load, NoWorkers(), self.restart_with)
        self.levels = self.control.levels
        self.sink.emit(Target(t_s=0.0, state="ready", pid=pid, params={} if pool is None else {"pool": pool}))
        self.control.begin(has_shape=False)

    def restart_with(self, changed: Mapping[str, Param]) -> None:
        self.restarts.append(changed)
        self.is_starting = True

    def sampler(self, module: str) -> Sampler:
        assert module == "capexplorer.stacks.process"
        self.samplers.append(Sampler(self))
        return self.samplers[-1]

    def pass_seconds(self, seconds: int) -> None:
        """So many seconds, in which all that was posted happens; the run may end before."""
        for _ in range(seconds):
            if self.context.outcome.reason is not None:
                return
            if self.is_starting:
                self.is_starting = False
                self.control.begin(has_shape=False)
            load, pump = self.requested_load.load, self.pump
            self.control.load_report(Spawned(load, pump.now_s() - pump.at_s(0.0)))
            self.control.ramp(self.now_s)
            self.add_second(*queueing(max(1, load.users)))
            self.control.beat()
            if self.context.outcome.reason is not None:
                return
            self.control.ticked()
            if self.control.alarm_s is not None and self.control.alarm_s <= self.now_s:
                self.control.advance_plan()

    def opened(self) -> list[tuple[int, bool]]:
        """(users, whether stacks were sampled) of each level so far."""
        return [(level.users, level.opened.stacks) for level in self.timeline.levels]

    def log(self) -> list[str]:
        """What a run without a screen prints of the log."""
        lines = self.context.log.drain(self.now_s)
        return [each.text for each in lines if (each.source, each.level) == ("capexplorer", "error")]


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Sampling]]:
    """The run of a test, whose samplers start no process."""
    runs: list[Sampling] = []
    made = Sampling.__init__

    def remember(run: Sampling, *args: object, **named: object) -> None:
        runs.append(run)
        made(run, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Sampling, "__init__", remember)
    monkeypatch.setattr(stack_sampling, "PipedProcess", lambda module: runs[-1].sampler(module))
    yield runs
    for run in runs:
        run.end()


def test_a_plan_samples_at_the_load_before_it_in_a_level_of_its_own(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "plan.jsonl", "20:14s, profile 10s, 60:14s, profile 5s, 20:14s")
    run.pass_seconds(100)
    assert run.opened() == [(20, False), (20, True), (60, False), (60, True), (20, False)]
    assert [(event.level, event.sampled) for event in run.timeline.stacks] == [(1, (SAMPLED,)), (3, (SAMPLED,))]
    assert [(ask.pids, ask.seconds, ask.url) for each in run.samplers for ask in each.asked] == [
        ((PID,), 10.0, "http://127.0.0.1:28080"), ((PID,), 5.0, "http://127.0.0.1:28080"),
    ]  # fmt: skip
    assert all(each.has_ended for each in run.samplers)
    assert run.context.outcome.reason == "plan finished"


def test_a_level_of_sampled_stacks_has_settled_from_its_first_second_on(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "settled.jsonl", "20:14s, profile 10s, 60:14s")
    run.pass_seconds(100)
    sampled = run.timeline.levels[1]
    assert sampled.figures.settled_seconds == 10.0
    assert sampled.settled_s == sampled.started_s


def test_stacks_are_sampled_once_the_load_has_settled(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "unsettled.jsonl", "20:1s, profile 10s, 60:14s")
    run.pass_seconds(2)
    assert run.samplers == []
    run.pass_seconds(5)
    assert run.opened() == [(20, False), (20, True)]
    assert run.timeline.levels[0].figures.settled


def test_a_ramp_ends_before_stacks_are_sampled_at_its_last_load(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "ramp.jsonl", "ramp to 20 10s, profile 10s, 60:14s")
    run.pass_seconds(100)
    assert run.opened() == [(20, False), (20, False), (20, True), (60, False)]


def test_after_the_autopilot_stacks_are_sampled_at_low_load_and_beyond_the_knee_and_the_run_ends_as_it_did(
    tmp_path: Path,
) -> None:
    run = Sampling(tmp_path / "knee.jsonl", task="knee", at_knee=True)
    drivers = set[type]()
    run.sink.wake_by(lambda: drivers.add(type(run.requested_load.driver.kind)))
    run.pass_seconds(600)
    assert drivers == {Autopilot, Plan}, "a run without a driver would end at that moment"
    beyond = run.opened()[-5]
    assert 1.4 * 50 < beyond[0] < 1.6 * 50
    assert run.opened()[-5:] == [beyond, (beyond[0], True), beyond, (1, False), (1, True)]
    found = run.timeline.verdicts[0].capacity.knee
    assert found is not None
    assert found.verification is not None
    assert found.verification.state == "verified", "the levels that sampling needs leave it so"
    assert len(run.timeline.stacks) == 2
    assert run.context.outcome.reason is not None
    assert run.context.outcome.reason.startswith("autopilot finished")
    assert [event.name for event in run.take() if isinstance(event, Command)][-2:] == ["stacks", "plan"]


def test_without_a_knee_nothing_is_sampled_after_the_autopilot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Sampling(tmp_path / "none.jsonl", task="knee", at_knee=True)
    monkeypatch.setattr(run.control, "_steps_at_knee", lambda: ())
    run.pass_seconds(600)
    assert run.samplers == []
    assert run.context.outcome.reason is not None
    assert any("no knee" in line for line in run.log())


def test_by_key_stacks_are_sampled_here_while_no_knee_is_known_and_the_run_goes_on(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "here.jsonl")
    run.control.open_level(Users(20), "user", run.requested_load.step(Users(20)))
    run.pass_seconds(10)
    run.control.sample_stacks(run.requested_load.hand_to(Plan()))
    run.pass_seconds(5)
    proposed = [event.proposal for event in run.take() if isinstance(event, Proposed)]
    assert getattr(proposed[-1], "why", None) == "stacks"
    run.pass_seconds(12)
    proposed = [event.proposal for event in run.take() if isinstance(event, Proposed)]
    assert getattr(proposed[-1], "why", None) == "unsampled"
    run.pass_seconds(40)
    assert [each for each in run.opened() if each[0]] == [(20, False), (20, True), (20, False)]
    assert run.context.outcome.reason is None


def test_by_key_the_load_returns_to_where_it_was(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "back.jsonl", task="knee")
    run.pass_seconds(600)
    run.context.outcome.quit()
    run.control.open_level(Users(30), "user", run.requested_load.step(Users(30)))
    run.pass_seconds(10)
    run.control.sample_stacks(run.requested_load.hand_to(Plan()))
    run.pass_seconds(120)
    assert [stacks for _, stacks in run.opened()[-6:]] == [False, True, False, False, True, False]
    assert run.opened()[-1] == (30, False)
    assert run.requested_load.load == Users(30)


def test_a_step_by_hand_ends_the_sampling_and_its_process(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "hand.jsonl", "20:14s, profile 10s, 60:14s")
    run.pass_seconds(20)
    assert run.opened()[-1] == (20, True)
    run.control.open_level(Users(5), "user", run.requested_load.step(Users(5)))
    assert run.samplers[0].has_ended
    run.pass_seconds(30)
    assert run.opened() == [(20, False), (20, True), (5, False)]
    assert run.timeline.stacks == []


@pytest.mark.parametrize("plan", ["20:14s, profile 10s, 60:14s", "20:14s, profile 10s"])
def test_a_sampling_whose_level_ends_early_is_made_again_and_the_plan_waits_for_it(plan: str, tmp_path: Path) -> None:
    """On a full machine a plan went on, or ended, without its stacks: the app was held up, which begins a new level."""
    run = Sampling(tmp_path / "suspended.jsonl", plan)
    run.pass_seconds(20)
    run.control.after_suspension(3.0, load_continues=True)
    run.pass_seconds(40)
    assert run.samplers[0].has_ended
    assert run.opened()[:4] == [(20, False), (20, True), (20, False), (20, True)]
    assert [event.level for event in run.timeline.stacks] == [3]
    assert run.timeline.levels[3].figures.settled_seconds == 10.0
    assert run.context.outcome.reason == "plan finished"


def test_a_sampling_whose_levels_all_end_early_is_given_up(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "suspended.jsonl", "20:14s, profile 10s, 60:14s")
    for _ in range(12):
        run.pass_seconds(10)
        run.control.after_suspension(3.0, load_continues=True)
    assert run.timeline.stacks == []
    assert len(run.samplers) == stack_sampling.TIMES_MOST
    assert run.opened()[-1] == (60, False)


@pytest.mark.parametrize("how", ["ended", "hangs", "no process", "not readable"])
def test_a_sampling_that_fails_is_in_the_log_and_the_plan_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(Sampler, "answers", False)
    if how == "not readable":
        monkeypatch.setattr(Sampler, "take", lambda _: [b'{"sampled": [{"seconds": null}]}'])
    run = Sampling(tmp_path / "fails.jsonl", "20:14s, profile 10s, 60:14s", pid=None if how == "no process" else PID)
    run.pass_seconds(20)
    for each in run.samplers if how == "ended" else ():
        each.is_open = False
    run.pass_seconds(60)
    assert run.opened()[-1] == (60, False)
    assert run.timeline.stacks == []
    assert len([line for line in run.log() if "stacks" in line]) == 1


def test_what_could_not_be_sampled_is_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer(failed=("py-spy is not installed",))
    monkeypatch.setattr(Sampler, "take", lambda _: [msgspec.json.encode(answer)])
    run = Sampling(tmp_path / "failed.jsonl", "20:14s, profile 10s, 60:14s")
    run.pass_seconds(60)
    assert [(event.sampled, event.failed) for event in run.timeline.stacks] == [((), answer.failed)]
    assert any("py-spy is not installed" in line for line in run.log())


def test_the_level_of_a_sampling_does_not_outlast_it(tmp_path: Path) -> None:
    """A plan that ends with it leaves the load to a person."""
    run = Sampling(tmp_path / "last.jsonl", "20:14s, profile 10s")
    run.pass_seconds(60)
    assert run.opened() == [(20, False), (20, True)]
    run.context.outcome.quit()
    run.pass_seconds(10)
    assert run.opened() == [(20, False), (20, True), (20, False)]


def test_events_of_a_sampling_lie_between_those_of_its_level(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "order.jsonl", "20:14s, profile 10s, 60:14s")
    run.pass_seconds(60)
    events = run.take()
    opened = next(index for index, each in enumerate(events) if isinstance(each, LevelOpened) and each.stacks)
    sampled = next(index for index, each in enumerate(events) if isinstance(each, StacksSampled))
    later = next(index for index, each in enumerate(events) if isinstance(each, LevelOpened) and each.users == 60)
    assert opened < sampled < later


@pytest.mark.parametrize("at_knee", [False, True])
def test_experiments_are_made_once_with_stacks_and_without(at_knee: bool, tmp_path: Path) -> None:
    run = Sampling(tmp_path / "why.jsonl", task="knee", at_knee=at_knee, explains=True)
    run.pass_seconds(900)
    names = [each.opened.experiment.name for each in run.timeline.levels if each.opened.experiment is not None]
    assert names == ["as_before", "few_users", "reconnect", "as_before"]


def test_experiments_follow_the_sampling_since_they_may_restart_the_target(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "why.jsonl", task="knee", at_knee=True, explains=True)
    drivers = set[type]()
    run.sink.wake_by(lambda: drivers.add(type(run.requested_load.driver.kind)))
    run.pass_seconds(900)
    assert drivers == {Autopilot, Plan}, "a run without a driver would end at that moment"
    levels = run.timeline.levels
    sampled = [at for at, each in enumerate(levels) if each.opened.stacks]
    tried = [at for at, each in enumerate(levels) if each.opened.experiment is not None]
    assert len(sampled) == 2
    assert tried
    assert max(sampled) < min(tried)
    assert run.context.outcome.reason is not None
    assert run.context.outcome.reason.startswith("autopilot finished")


def test_after_the_last_experiment_the_target_has_its_own_parameters_and_the_knee_stays_the_present_one(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "slots.jsonl", explains=True, pool=4)
    run.control.switch_autopilot(run.requested_load.hand_to(Autopilot()), "knee")
    run.pass_seconds(200)  # the last of them has ended after 125
    assert run.restarts == [{"pool": 6}, {}]
    last, before = run.timeline.levels[-1], run.timeline.levels[-2]
    assert before.opened.experiment == Experiment(name="slots", param="pool", before=4, after=6)
    assert (last.users, last.opened.experiment, last.closed) == (1, None, None)
    assert run.timeline.current_verdict is not None
    assert run.timeline.current_verdict.capacity.knee is not None


def test_stacks_by_key_after_the_experiments_begin_no_others_and_another_search_samples_again(tmp_path: Path) -> None:
    run = Sampling(tmp_path / "again.jsonl", task="knee", at_knee=True, explains=True)
    run.pass_seconds(900)
    run.context.outcome.quit()
    run.control.open_level(Users(30), "user", run.requested_load.step(Users(30)))
    run.pass_seconds(10)
    run.control.sample_stacks(run.requested_load.hand_to(Plan()))
    run.pass_seconds(150)
    assert (run.requested_load.load, type(run.requested_load.driver.kind)) == (Users(30), Manual)
    assert len(run.timeline.stacks) == 4
    run.control.switch_autopilot(run.requested_load.hand_to(Autopilot()), "knee")
    run.pass_seconds(900)
    assert len(run.timeline.stacks) == 6

"""The autopilot by users and by rate: its steps, levels, workers and end, and the verification of a knee."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.model.events import LevelOpened, Mark, Proposed, Target
from capexplorer.model.load import Load, Rate, Users
from capexplorer.model.proposals import Hold
from capexplorer.model.readings import NeighboursReading
from capexplorer.model.verdicts import KneeVerdict
from capexplorer.run.autopilot import AutopilotDriver
from capexplorer.run.live_levels import CurrentEpoch, LiveLevels
from capexplorer.run.options import Task
from capexplorer.steer.requested_load import Autopilot

from .bare_context import NoWorkers, bare_context, requested_load
from .knee_search import TARGET_WAITING_FOR_CPU, KneeSearch, failing_above_capacity, slowed_by_other_processes


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KneeSearch]:
    """A search that has ended, on a service with its knee at 50 users."""
    search = KneeSearch(tmp_path_factory.mktemp("explored") / "search.jsonl")
    search.run_autopilot()
    yield search
    search.run.end()


def test_the_autopilot_finds_the_knee_and_returns_to_the_lowest_level(explored: KneeSearch) -> None:
    command = explored.commands()[-1]
    assert (command.name, command.by, command.args["on"], command.args["end"], command.args["kind"]) == (
        "autopilot", "autopilot", False, "done", "knee",
    )  # fmt: skip
    assert float(command.args["knee_users"] or 0) == pytest.approx(50, rel=0.05)
    assert explored.levels()[0] == explored.levels()[-1] == (1, "autopilot")
    assert len(explored.finished) == 1


def test_a_saturated_generator_gets_another_worker_and_the_search_finds_the_knee(tmp_path: Path) -> None:
    search = KneeSearch(tmp_path / "growing.jsonl", most_workers=6)
    search.run_autopilot(600)
    command = search.commands()[-1]
    assert (command.args["end"], command.args["kind"]) == ("done", "knee"), command.args
    assert float(command.args["knee_users"] or 0) == pytest.approx(50, rel=0.1)
    assert search.workers >= 4
    search.run.end()


def test_each_step_opens_a_level_and_records_a_command_with_its_reason(explored: KneeSearch) -> None:
    steps = [event for event in explored.commands() if event.name == "users"]
    assert [(event.args["users"], event.by) for event in steps] == explored.levels()
    assert {str(event.args["why"]) for event in steps} >= {"first", "double", "soak", "beyond", "return_to_first"}


def test_a_knee_is_provisional_until_a_soak_a_level_beyond_it_and_a_return(explored: KneeSearch) -> None:
    explored.run.take()
    marks = [event for event in explored.run.shown if isinstance(event, Mark) and event.kind == "knee"]
    states = [str(mark.finding.figures()["verification"]) for mark in marks]
    assert states == [*["provisional"] * (len(states) - 1), "verified"]
    soaked, beyond, returned = marks[-3:]
    assert "soak_agrees" in soaked.finding.figures()
    assert "beyond_agrees" not in soaked.finding.figures()
    assert "beyond_agrees" in beyond.finding.figures()
    assert "return_agrees" not in beyond.finding.figures()
    assert returned.finding.figures()["provisional"] is False
    assert [mark.revision for mark in marks] == list(range(1, len(marks) + 1))


def test_after_failures_the_autopilot_steps_down_and_still_finds_the_knee(tmp_path: Path) -> None:
    search = KneeSearch(tmp_path / "failing.jsonl", failing_above_capacity)
    search.run_autopilot()
    users = [users for users, _ in search.levels()]
    highest = users.index(max(users))
    assert users[highest + 1] <= 0.7 * 50
    knee = search.run.timeline.verdicts[0].capacity.knee
    assert knee is not None
    assert knee.kind == "knee"
    assert knee.users == pytest.approx(50, rel=0.1)
    search.run.end()


def test_an_autopilot_that_begins_late_in_a_session_finds_the_knee(search: KneeSearch) -> None:
    """It once used the age of the session as that of the level, and so gave up on each level that had not settled after 90 s."""
    search.run.step(5, "user")
    for _ in range(120):
        search.run.add_second(10, 100.0, 0)
    search.run_autopilot()
    assert search.commands()[-1].args["knee_users"] == pytest.approx(50, rel=0.05)


def test_the_autopilot_gives_up_if_other_processes_use_the_cpu(tmp_path: Path) -> None:
    search = KneeSearch(
        tmp_path / "disturbed.jsonl",
        slowed_by_other_processes,
        target=TARGET_WAITING_FOR_CPU,
        neighbours=NeighboursReading(cpu_ratio=1.4),
    )
    search.run_autopilot()
    command = search.commands()[-1]
    assert (command.args["end"], command.args["why"], command.args["left_out"]) == ("gave_up", "neighbours", 3)
    knee = search.run.timeline.verdicts[0].capacity.knee
    assert knee is not None
    assert knee.kind == "no_knee"
    assert search.levels()[-1] == (1, "autopilot"), "the lowest level"
    search.run.end()


def test_the_autopilot_ends_at_max_users_and_returns_to_the_lowest_level(tmp_path: Path) -> None:
    search = KneeSearch(tmp_path / "guard.jsonl", max_users=20)
    search.run_autopilot()
    assert max(users for users, _ in search.levels()) == 20
    assert search.levels()[-1] == (1, "autopilot")
    assert (search.commands()[-1].args["end"], search.commands()[-1].args["why"]) == ("gave_up", "max_users")
    search.run.end()


def test_a_step_by_hand_ends_the_driver_at_once(search: KneeSearch) -> None:
    search.run_autopilot(seconds=20)
    search.requested_load.step(Users(search.requested_load.load.users))  # a step by hand takes effect in the thread that steps
    search.add_second()
    search.driver.taken_over("user")
    before = search.levels()
    for _ in range(30):
        search.add_second()
    assert search.levels() == before
    command = search.commands()[-1]
    assert (command.name, command.args) == ("autopilot", {"on": False, "why": "taken_over", "who": "user"})
    assert search.finished == []


def test_a_step_that_was_decided_before_a_step_by_hand_is_dropped(search: KneeSearch) -> None:
    search.begin()
    search.requested_load.step(Users(search.requested_load.load.users))
    search.tick()
    assert search.levels() == []
    assert search.commands() == []


def test_an_autopilot_that_is_switched_on_again_continues_above_the_measured_levels(search: KneeSearch) -> None:
    search.run_autopilot(seconds=60)
    search.driver.end()
    known = len(search.levels())
    search.run_autopilot()
    assert search.levels()[known:][0][0] > 12
    assert search.finished


def test_the_autopilot_takes_no_step_while_there_is_no_service(search: KneeSearch) -> None:
    search.requested_load.shut()
    search.run_autopilot(seconds=0)
    assert search.levels() == []


class RunAtRate:
    """A run whose open level offers 20 iterations a second, set by hand."""

    def __init__(self) -> None:
        self.context, self.load = bare_context(), requested_load(is_open=True)
        self.context.emit(Target(t_s=0.0, state="ready"))
        levels = LiveLevels(self.context, self.load)
        levels.step(Rate(20.0), "user", self.load.step(Rate(20.0)))
        self.autopilot = AutopilotDriver(self.context, self.load, levels, NoWorkers())
        self.context.sink.take()

    def begin(self, task: Task) -> None:
        self.autopilot.begin(self.load.hand_to(Autopilot()), task, 3)

    def tick(self, planned: Hold | None = None) -> list[str | Load]:
        """Let a second pass: the reasons of the proposals that are published, and the loads of levels. `planned`: a plan's."""
        self.autopilot.ticked(CurrentEpoch(self.context.timeline), planned)
        found: list[str | Load] = []
        for event in self.context.sink.take():
            match event:
                case Proposed():
                    found.append(getattr(event.proposal, "why"))  # noqa: B009
                case LevelOpened():
                    found.append(event.load)
        return found


def test_while_a_rate_is_offered_by_hand_the_rate_search_proposes_the_next_step() -> None:
    assert RunAtRate().tick() == ["rate"]


def test_a_plan_that_offers_a_rate_makes_the_proposals_itself() -> None:
    assert RunAtRate().tick(Hold("plan", 5.0, 5.0)) == ["plan"]


def test_the_autopilot_of_users_begins_while_a_rate_is_offered() -> None:
    """One that began while the target restarted once never stepped: it was not called while a rate was offered."""
    run = RunAtRate()
    run.begin("knee")
    assert run.tick() == ["first", Users(3)]
    assert run.load.load == Users(3)


def test_the_autopilot_of_rates_publishes_that_it_searches() -> None:
    run = RunAtRate()
    run.begin("rate")
    assert run.tick() == ["rate_search"]
    assert run.autopilot.is_on


def test_a_search_by_rate_that_another_driver_replaced_steps_no_more() -> None:
    run = RunAtRate()
    run.begin("rate")
    run.load.step(Rate(5.0))
    assert run.tick() == ["rate"]
    assert run.load.load == Rate(5.0)


def step_by_hand(search: KneeSearch, *steps: tuple[int, int]) -> None:
    """Levels that a person makes, each (users, seconds)."""
    for users, seconds in steps:
        search.run.step(users)
        for _ in range(seconds):
            search.add_second()


STEPS_BY_HAND = ((10, 12), (20, 12), (30, 12), (40, 12), (65, 12), (90, 12))


def knee_of(search: KneeSearch) -> KneeVerdict:
    """The knee that is known now."""
    verdict = search.run.timeline.current_verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    return verdict.capacity.knee


def verify_knee(search: KneeSearch, seconds: int = 120) -> None:
    """Let the autopilot verify the knee until it has finished, or for this many seconds."""
    search.begin("verify")
    for _ in range(seconds):
        if not search.driver.is_on:
            break
        search.add_second()


def ended(search: KneeSearch) -> tuple[object, ...]:
    """Task, end and verification of the last command."""
    args = search.commands()[-1].args
    return args["task"], args["end"], args["verification"]


def test_a_knee_found_by_hand_is_verified_by_three_levels_without_a_search(search: KneeSearch) -> None:
    step_by_hand(search, *STEPS_BY_HAND)
    known = len(search.levels())
    verify_knee(search)
    assert search.levels()[known:] == [(35, "autopilot"), (60, "autopilot"), (10, "autopilot")]
    assert not knee_of(search).provisional
    assert ended(search) == ("verify", "done", "verified")


def test_a_service_that_became_slower_contradicts_its_knee_and_users_return_to_the_first_level(search: KneeSearch) -> None:
    step_by_hand(search, *STEPS_BY_HAND)
    search.service = lambda users: (min(users, 25), users / min(users, 25) * 1000 - 400, 0)
    verify_knee(search, seconds=200)
    knee = knee_of(search)
    assert knee.kind == "bend"
    assert knee.evidence.return_agrees is False
    assert ended(search) == ("verify", "done", "contradicted")
    assert search.requested_load.load.users == 10


def test_a_step_by_hand_ends_a_verification(search: KneeSearch) -> None:
    step_by_hand(search, *STEPS_BY_HAND)
    verify_knee(search, seconds=5)
    search.requested_load.step(Users(20))
    search.driver.taken_over("user")
    assert search.commands()[-1].args == {"on": False, "task": "verify", "why": "taken_over", "who": "user"}
    assert search.finished == []

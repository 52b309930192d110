"""The autopilot as the driver of a run: its input, its commands, and what happens when someone takes over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from load.patched import Played, play

from capexplorer import wording
from capexplorer.errors import InputError
from capexplorer.model.events import Command, LevelOpened, Mark
from capexplorer.model.readings import NeighboursReading, TargetReading
from capexplorer.model.stream import Param
from capexplorer.model.verdicts import KneeVerdict
from capexplorer.run.current_epoch import CurrentEpoch
from capexplorer.run.drivers.autopilot import AutopilotDriver
from capexplorer.run.drivers.driver import Autopilot
from capexplorer.run.drivers.load_target import LoadTarget

from .driven import Driven

Service = Callable[[int], tuple[int, float, int]]
"""From users to one second's successes, their latency in ms, and failures."""


def steady(users: int) -> tuple[int, float, int]:
    """N* = 50 at 100/s; users wait 0.4 s and are served in 0.1 s."""
    rate = min(2 * users, 100)
    return rate, max(100.0, users / rate * 1000 - 400), 0


def shedding(users: int) -> tuple[int, float, int]:
    """The same, but what is too much fails."""
    rate = min(2 * users, 100)
    return rate, 100.0, 2 * users - rate


def starved(users: int) -> tuple[int, float, int]:
    """The same beside neighbours, which leave it 40/s."""
    rate = min(2 * users, 40)
    return rate, max(100.0, users / rate * 1000 - 400), 0


STARVED = TargetReading(pid=7, cpu_ratio=0.4, busiest_thread_ratio=0.4, run_delay_ratio=0.58, processes=1)


class Search:
    """A driven run with the autopilot as its driver."""

    def __init__(
        self,
        path: Path,
        service: Service = steady,
        max_users: int = 1_000,
        target: TargetReading | None = None,
        neighbours: NeighboursReading | None = None,
        most_workers: int = 0,
    ) -> None:
        self.most_workers = most_workers
        self.target, self.neighbours = target, neighbours
        self.run, self.load_target, self.service = Driven(path), LoadTarget(0, 100.0), service
        self.load_target.is_open = True
        self.finished: list[str] = []
        self.driver = AutopilotDriver(
            self.run.timeline,
            self.load_target,
            max_users=max_users,
            emit=self._emit,
            open_level=lambda users, rate: self.run.step(users, "autopilot"),
            finish=self.finished.append,
            growth=lambda: "possible" if self.run.tracker.workers < self.most_workers else "none",
            grow=self._grow,
        )

    def _grow(self) -> None:
        """One more worker, which is there at once."""
        tracker = self.run.tracker
        tracker.workers = max(2, tracker.workers + 1)
        self.run.step(self.load_target.wanted, "autopilot")

    def _emit(self, name: str, args: Mapping[str, Param | None]) -> None:
        self.run.sink.emit(Command(t_s=self.run.now_s, name=name, by="autopilot", args=dict(args)))  # type: ignore[arg-type]

    def begin(self) -> None:
        self.driver.begin(self.load_target.hand_to(Autopilot()))

    def go(self, seconds: int = 300) -> None:
        self.begin()
        self.driver.ticked(CurrentEpoch(self.run.timeline))
        for _ in range(seconds):
            if not self.driver.is_on:
                break
            self.second()

    def second(self) -> None:
        goodput, latency_ms, failures = self.service(self.load_target.wanted)
        cpu = 0.1
        if self.most_workers:  # each, or this process, does 30/s at most
            can = 30 * max(1, self.run.tracker.workers)
            cpu, goodput = min(1.0, goodput / can), min(goodput, can)
        self.run.second(goodput, latency_ms, failures, target=self.target, neighbours=self.neighbours, generator_cpu=cpu)
        self.driver.ticked(CurrentEpoch(self.run.timeline))

    def commands(self) -> list[Command]:
        self.run.take()
        return [event for event in self.run.shown if isinstance(event, Command)]

    def levels(self) -> list[tuple[int, str]]:
        self.run.take()
        return [(event.users, event.by) for event in self.run.shown if isinstance(event, LevelOpened)]


@pytest.fixture
def search(tmp_path: Path) -> Iterator[Search]:
    made = Search(tmp_path / "search.jsonl")
    yield made
    made.run.end()


def test_an_exploration_finds_the_knee_and_ends_at_rest(search: Search) -> None:
    search.go()
    command = search.commands()[-1]
    assert (command.name, command.by, command.args["on"], command.args["end"], command.args["kind"]) == (
        "autopilot", "autopilot", False, "done", "knee",
    )  # fmt: skip
    assert float(command.args["knee_users"] or 0) == pytest.approx(50, rel=0.05)
    assert search.levels()[0] == search.levels()[-1] == (1, "autopilot")
    assert search.finished and search.finished[0].startswith("autopilot finished: knee 50 [")


def test_a_saturated_generator_grows_and_the_search_goes_on_to_the_services_knee(tmp_path: Path) -> None:
    search = Search(tmp_path / "growing.jsonl", most_workers=6)
    search.go(600)
    command = search.commands()[-1]
    assert (command.args["end"], command.args["kind"]) == ("done", "knee"), command.args
    assert float(command.args["knee_users"] or 0) == pytest.approx(50, rel=0.1)
    assert search.run.tracker.workers >= 4
    search.run.end()


def test_a_generator_that_may_not_grow_is_the_limit_as_before(tmp_path: Path) -> None:
    search = Search(tmp_path / "small.jsonl", most_workers=2)
    search.go(600)
    assert search.run.tracker.workers == 2
    verdict = search.run.timeline.verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    assert verdict.capacity.knee.limit == "generator"
    search.run.end()


def test_each_step_is_a_level_of_the_autopilots_and_a_command_that_says_why(search: Search) -> None:
    search.go()
    steps = [event for event in search.commands() if event.name == "users"]
    assert [(event.args["users"], event.by) for event in steps] == search.levels()
    assert {str(event.args["why"]) for event in steps} >= {"first", "double", "soak", "beyond", "return_to_first"}
    assert wording.command(steps[1]) == "users → 3, autopilot: goodput at 100% of linear scaling: larger step"
    assert all(wording.command(event).count("autopilot: ") == 1 for event in steps)


def test_an_exploration_drops_provisional_only_after_a_soak_a_level_beyond_and_a_return(search: Search) -> None:
    search.go()
    search.run.take()
    marks = [event for event in search.run.shown if isinstance(event, Mark) and event.kind == "knee"]
    states = [str(mark.finding.figures()["verification"]) for mark in marks]
    assert states == [*["provisional"] * (len(states) - 1), "verified"]
    soaked, beyond, returned = marks[-3:]
    assert "soak_agrees" in soaked.finding.figures() and "beyond_agrees" not in soaked.finding.figures()
    assert "beyond_agrees" in beyond.finding.figures() and "return_agrees" not in beyond.finding.figures()
    assert returned.finding.figures()["provisional"] is False
    assert [mark.revision for mark in marks] == list(range(1, len(marks) + 1))
    assert search.finished[0].endswith("/s, verified")


def test_the_way_to_a_verified_knee_is_said_step_by_step(search: Search) -> None:
    search.go()
    steps = [event for event in search.commands() if event.name == "users"]
    texts = [wording.command(event).partition("autopilot: ")[2] for event in steps[-3:]]
    assert texts[0].startswith("knee 50 [") and texts[0].endswith(": soak at 70% of it, to verify it")
    assert texts[1:] == ["20% beyond the knee, to verify it", "back to the first level, to check whether the service has changed"]
    assert wording.verifying(steps[-3].args, 12.0) == "verifying: soak at 35 users, 12 s of 20 s"
    assert wording.verifying(steps[-2].args, 9.0) == "verifying: 60 users, 20% beyond the knee, 9 s, at most 18 s"
    assert wording.verifying(steps[-1].args, 3.0) == "verifying: back at 1 user, 3 s of 6 s"
    assert wording.verifying(steps[0].args, 3.0) is None


# -- verification alone


def explored_by_hand(search: Search, *steps: tuple[int, int]) -> None:
    """(users, seconds), by a person."""
    for users, seconds in steps:
        search.load_target.step(users)
        search.run.step(users)
        for _ in range(seconds):
            search.second()


BY_HAND = ((10, 12), (20, 12), (30, 12), (40, 12), (65, 12), (90, 12))


def knee_of(search: Search) -> KneeVerdict:
    verdict = search.run.timeline.current_verdict
    assert verdict is not None and verdict.capacity.knee is not None
    return verdict.capacity.knee


def verify_alone(search: Search, seconds: int = 120) -> None:
    search.driver.begin(search.load_target.hand_to(Autopilot()), only_verifies=True)
    for _ in range(seconds):
        if not search.driver.is_on:
            break
        search.second()


def test_a_knee_found_by_hand_is_verified_without_a_search(search: Search) -> None:
    explored_by_hand(search, *BY_HAND)
    known = len(search.levels())
    verify_alone(search)
    assert search.levels()[known:] == [(35, "autopilot"), (60, "autopilot"), (10, "autopilot")]
    assert not knee_of(search).provisional
    assert search.finished[0].startswith("verification finished: knee 50 [") and search.finished[0].endswith(", verified")


def test_only_the_levels_that_a_person_has_not_made_are_made(search: Search) -> None:
    explored_by_hand(search, *BY_HAND, (35, 30))
    known = len(search.levels())
    verify_alone(search)
    assert search.levels()[known:] == [(60, "autopilot"), (10, "autopilot")]


def test_levels_made_by_hand_verify_as_well(search: Search) -> None:
    explored_by_hand(search, *BY_HAND, (35, 30), (60, 12), (10, 12))
    assert not knee_of(search).provisional
    verify_alone(search)
    assert search.finished and search.finished[0].endswith(", verified")


def test_a_service_that_became_slower_contradicts_its_knee_and_the_users_go_back_to_rest(search: Search) -> None:
    explored_by_hand(search, *BY_HAND)
    search.service = lambda users: (min(users, 25), users / min(users, 25) * 1000 - 400, 0)
    verify_alone(search, seconds=200)
    knee = knee_of(search)
    assert knee.verification is not None and (knee.verification.state, knee.confidence) == ("contradicted", "low")
    assert search.finished[0].endswith(", contradicted by later levels")
    assert search.load_target.wanted == 10


def test_a_step_by_hand_ends_a_verification(search: Search) -> None:
    explored_by_hand(search, *BY_HAND)
    verify_alone(search, seconds=5)
    search.load_target.step(20)
    search.driver.taken_over("user")
    assert wording.command(search.commands()[-1]) == "verification off: users were changed by hand"
    assert search.finished == []


def test_the_guard_keeps_a_verification_below_the_level_beyond_and_the_end_says_so(tmp_path: Path) -> None:
    search = Search(tmp_path / "guard.jsonl", max_users=1_000)
    explored_by_hand(search, *BY_HAND)
    search.driver = AutopilotDriver(
        search.run.timeline,
        search.load_target,
        max_users=52,
        emit=search._emit,
        open_level=lambda users, rate: search.run.step(users, "autopilot"),
        finish=search.finished.append,
    )
    verify_alone(search)
    assert max(users for users, by in search.levels() if by == "autopilot") == 35
    assert search.finished[0].endswith(", not verified: max_users does not allow a level 20% beyond the knee")
    search.run.end()


def test_its_knee_is_judged_with_the_structural_error_of_few_short_levels(search: Search) -> None:
    search.go()
    knee = search.run.timeline.verdicts[0].capacity.knee
    assert knee is not None and knee.users and knee.users_low and knee.users_high
    assert (knee.users_high - knee.users_low) / knee.users > 0.3  # 12% instead of 6%


def test_failures_are_backed_off_from_and_the_knee_is_found_all_the_same(tmp_path: Path) -> None:
    search = Search(tmp_path / "shed.jsonl", shedding)
    search.go()
    users = [users for users, _ in search.levels()]
    highest = users.index(max(users))
    assert users[highest + 1] <= 0.7 * 50
    knee = search.run.timeline.verdicts[0].capacity.knee
    assert knee is not None and knee.kind == "knee"
    assert knee.users == pytest.approx(50, rel=0.1)
    search.run.end()


def test_what_a_session_did_before_is_not_reason_to_give_up(search: Search) -> None:
    """It once took the age of the session for that of the level, and gave up on whatever had not settled after 90 s."""
    search.run.step(5, "user")
    for _ in range(120):
        search.run.second(10, 100.0, 0)
    search.load_target.wanted = 5
    search.go()
    assert search.finished and search.finished[0].startswith("autopilot finished: knee 50 [")


def test_it_ends_without_a_knee_if_other_processes_use_the_machine(tmp_path: Path) -> None:
    search = Search(tmp_path / "held.jsonl", starved, target=STARVED, neighbours=NeighboursReading(cpu_ratio=1.4))
    search.go()
    assert search.finished == [
        "autopilot gave up: other processes use the machine's CPU; 3 levels left out because other processes used the CPU"
    ]
    knee = search.run.timeline.verdicts[0].capacity.knee
    assert knee is not None and knee.kind == "no_knee"
    assert search.levels()[-1] == (1, "autopilot"), "at rest"
    search.run.end()


def test_at_max_users_it_ends_at_the_lowest_level(tmp_path: Path) -> None:
    search = Search(tmp_path / "guard.jsonl", max_users=20)
    search.go()
    assert max(users for users, _ in search.levels()) == 20
    assert search.levels()[-1] == (1, "autopilot")
    assert search.finished == ["autopilot gave up: the limit max_users is reached; no knee up to 20 users"]
    search.run.end()


def test_a_step_by_hand_ends_the_driver_at_once(search: Search) -> None:
    search.go(seconds=20)
    search.load_target.step(search.load_target.wanted)  # as LoadTarget does, in the thread of whoever steps
    search.second()
    search.driver.taken_over("user")
    before = search.levels()
    for _ in range(30):
        search.second()
    assert search.levels() == before
    command = search.commands()[-1]
    assert (command.name, command.args["on"], wording.command(command)) == (
        "autopilot",
        False,
        "autopilot off: users were changed by hand",
    )
    assert search.finished == []


def test_a_step_decided_before_a_step_by_hand_is_dropped(search: Search) -> None:
    search.begin()
    search.load_target.step(search.load_target.wanted)
    search.driver.ticked(CurrentEpoch(search.run.timeline))
    assert search.levels() == []
    assert search.commands() == []


def test_switched_on_again_it_continues_from_the_measured_levels(search: Search) -> None:
    search.go(seconds=60)
    search.driver.end()
    known = len(search.levels())
    search.go()
    assert search.levels()[known:][0][0] > 12
    assert search.finished


def test_nothing_happens_while_there_is_not_service(search: Search) -> None:
    search.load_target.is_open = False
    search.go(seconds=0)
    assert search.levels() == []


# -- taking over, and the options


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("run.scenes.taken_over")


def test_any_other_step_ends_the_autopilot_and_its_next_one_is_refused(seen: Played) -> None:
    assert seen["taken_over"] == [1.0, 5, 3.0, 8, False, None, 8]


def test_steps_of_two_threads_end_with_the_persons(seen: Played) -> None:
    assert seen["raced"] == {"wanted": 7, "autopilot_steps": False}


def test_reports_of_a_shape_that_was_taken_over_are_dropped(seen: Played) -> None:
    assert seen["former_shape"] == [True, 5, False, 3, False, 3]


def test_moves_and_the_end_of_a_former_plan_are_dropped(seen: Played) -> None:
    assert seen["former_plan"] == [None, False, 2.0, True, 4]


def test_autopilot_and_plan_exclude_each_other() -> None:
    from capexplorer.commands.resolving import RunArguments, resolve

    with pytest.raises(InputError, match="--autopilot: cannot be combined with --plan"):
        resolve(RunArguments(profile="mixed", autopilot="users", plan="10:5s"))


def test_the_autopilot_begins_at_one_user_by_default() -> None:
    from capexplorer.commands.resolving import RunArguments, resolve

    assert resolve(RunArguments(profile="sleepers", autopilot="users")).start_users == 1
    assert resolve(RunArguments(profile="sleepers", autopilot="users", users=10)).start_users == 10

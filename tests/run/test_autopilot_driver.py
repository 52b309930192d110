"""The autopilot at the controls of a run: what it is shown, what it tells, and who has the wheel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from load.patched import Played, play

from capexplorer import wording
from capexplorer.errors import InputError
from capexplorer.model.events import Command, LevelOpened
from capexplorer.model.stream import Param
from capexplorer.run.current_epoch import Look
from capexplorer.run.drivers.autopilot import Pilot

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


class Wheel:
    """Steering without a load."""

    def __init__(self) -> None:
        self.wanted, self.is_open, self.piloted = 0, True, False

    def pilot(self, users: int) -> float | None:
        if not self.piloted:
            return None
        self.wanted = users
        return 100.0


class Flown:
    """A driven run with a pilot."""

    def __init__(self, path: Path, service: Service = steady, max_users: int = 1_000) -> None:
        self.run, self.wheel, self.service = Driven(path), Wheel(), service
        self.finished: list[str] = []
        self.pilot = Pilot(
            self.run.timeline,
            self.wheel,
            max_users=max_users,
            tell=self._tell,
            open_level=lambda users, rate: self.run.step(users, "autopilot"),
            finish=self.finished.append,
        )

    def _tell(self, name: str, args: Mapping[str, Param | None]) -> None:
        self.run.outlet.emit(Command(t_s=self.run.now_s, name=name, by="autopilot", args=dict(args)))  # type: ignore[arg-type]

    def fly(self, seconds: int = 300) -> None:
        self.pilot.begin()
        self.pilot.ticked(Look(self.run.timeline))
        for _ in range(seconds):
            if not self.pilot.is_on:
                break
            self.second()

    def second(self) -> None:
        goodput, latency_ms, failures = self.service(self.wheel.wanted)
        self.run.second(goodput, latency_ms, failures)
        self.pilot.ticked(Look(self.run.timeline))

    def commands(self) -> list[Command]:
        self.run.take()
        return [event for event in self.run.shown if isinstance(event, Command)]

    def levels(self) -> list[tuple[int, str]]:
        self.run.take()
        return [(event.users, event.by) for event in self.run.shown if isinstance(event, LevelOpened)]


@pytest.fixture
def flown(tmp_path: Path) -> Iterator[Flown]:
    made = Flown(tmp_path / "flown.jsonl")
    yield made
    made.run.end()


def test_an_exploration_finds_the_knee_and_ends_at_rest(flown: Flown) -> None:
    flown.fly()
    told = flown.commands()[-1]
    assert (told.name, told.by, told.args["on"], told.args["end"], told.args["kind"]) == (
        "autopilot", "autopilot", False, "done", "knee",
    )  # fmt: skip
    assert float(told.args["knee_users"] or 0) == pytest.approx(50, rel=0.05)
    assert flown.levels()[0] == flown.levels()[-1] == (1, "autopilot")
    assert flown.finished and flown.finished[0].startswith("autopilot finished: knee 50 [")


def test_each_step_is_a_level_of_the_autopilots_and_a_command_that_says_why(flown: Flown) -> None:
    flown.fly()
    steps = [event for event in flown.commands() if event.name == "users"]
    assert [(event.args["users"], event.by) for event in steps] == flown.levels()
    assert {str(event.args["why"]) for event in steps} >= {"first", "double", "plateau", "recovery", "rest"}
    assert wording.command(steps[1]) == "users → 3, autopilot: goodput at 100% of the low-load line: larger step"
    assert all(wording.command(event).count("autopilot: ") == 1 for event in steps)


def test_its_knee_is_judged_with_the_structural_error_of_few_short_levels(flown: Flown) -> None:
    flown.fly()
    knee = flown.run.timeline.verdicts[0].capacity.knee
    assert knee is not None and knee.users and knee.users_low and knee.users_high
    assert (knee.users_high - knee.users_low) / knee.users > 0.3  # 12% instead of 6%


def test_failures_are_backed_off_from_and_the_knee_is_found_all_the_same(tmp_path: Path) -> None:
    flown = Flown(tmp_path / "shed.jsonl", shedding)
    flown.fly()
    users = [users for users, _ in flown.levels()]
    highest = users.index(max(users))
    assert users[highest + 1] <= 0.7 * 50
    knee = flown.run.timeline.verdicts[0].capacity.knee
    assert knee is not None and knee.kind == "knee"
    assert knee.users == pytest.approx(50, rel=0.1)
    flown.run.end()


def test_what_a_session_did_before_is_no_reason_to_give_up(flown: Flown) -> None:
    """It once took the age of the session for that of the level, and gave up on whatever had not settled after 90 s."""
    flown.run.step(5, "user")
    for _ in range(120):
        flown.run.second(10, 100.0, 0)
    flown.wheel.wanted = 5
    flown.fly()
    assert flown.finished and flown.finished[0].startswith("autopilot finished: knee 50 [")


def test_at_the_guard_it_gives_up_and_rests(tmp_path: Path) -> None:
    flown = Flown(tmp_path / "guard.jsonl", max_users=20)
    flown.fly()
    assert max(users for users, _ in flown.levels()) == 20
    assert flown.levels()[-1] == (1, "autopilot")
    assert flown.finished == ["autopilot gave up: max_users allows no more; no knee up to 20 users"]
    flown.run.end()


def test_whoever_steps_takes_over_at_once(flown: Flown) -> None:
    flown.fly(seconds=20)
    flown.wheel.piloted = False  # as Steering does, in the thread of whoever steps
    flown.second()
    flown.pilot.taken_over("user")
    before = flown.levels()
    for _ in range(30):
        flown.second()
    assert flown.levels() == before
    told = flown.commands()[-1]
    assert (told.name, told.args["on"], wording.command(told)) == ("autopilot", False, "autopilot off: ended by a step by hand")
    assert flown.finished == []


def test_a_step_that_was_decided_as_someone_took_over_does_not_happen(flown: Flown) -> None:
    flown.pilot.begin()
    flown.wheel.piloted = False
    flown.pilot.ticked(Look(flown.run.timeline))
    assert flown.levels() == []
    assert flown.commands() == []


def test_switched_on_again_it_goes_on_from_what_is_known(flown: Flown) -> None:
    flown.fly(seconds=60)
    flown.pilot.end()
    known = len(flown.levels())
    flown.fly()
    assert flown.levels()[known:][0][0] > 12
    assert flown.finished


def test_nothing_happens_while_there_is_no_service(flown: Flown) -> None:
    flown.wheel.is_open = False
    flown.fly(seconds=0)
    assert flown.levels() == []


# -- the wheel itself, and the options


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("run.scenes.taken_over")


def test_any_other_step_ends_the_autopilot_and_its_next_one_is_refused(seen: Played) -> None:
    assert seen["taken_over"] == [1.0, 5, 3.0, 8, False, None, 8]


def test_steps_of_two_threads_end_with_the_persons(seen: Played) -> None:
    assert seen["raced"] == {"wanted": 7, "piloted": False}


def test_autopilot_and_plan_exclude_each_other() -> None:
    from capexplorer.commands.resolving import Asked, resolve

    with pytest.raises(InputError, match="--autopilot: not beside --plan"):
        resolve(Asked(profile="mixed", autopilot=True, plan="10:5s"))


def test_the_autopilot_begins_at_one_user_unless_told_otherwise() -> None:
    from capexplorer.commands.resolving import Asked, resolve

    assert resolve(Asked(profile="sleepers", autopilot=True)).start_users == 1
    assert resolve(Asked(profile="sleepers", autopilot=True, users=10)).start_users == 10

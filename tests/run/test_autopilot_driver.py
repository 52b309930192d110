"""The autopilot as the driver of a run: its levels and commands, how it ends, and steps by hand during it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from load.patched import Played, play

from capexplorer.errors import InputError
from capexplorer.model.events import Mark
from capexplorer.model.load import Users
from capexplorer.model.readings import NeighboursReading

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


def test_a_saturated_generator_that_may_have_no_more_workers_limits_the_knee(tmp_path: Path) -> None:
    search = KneeSearch(tmp_path / "small.jsonl", most_workers=2)
    search.run_autopilot(600)
    assert search.workers == 2
    verdict = search.run.timeline.verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    assert verdict.capacity.knee.limit == "generator"
    search.run.end()


def test_each_step_opens_a_level_and_records_a_command_with_its_reason(explored: KneeSearch) -> None:
    steps = [event for event in explored.commands() if event.name == "users"]
    assert [(event.args["users"], event.by) for event in steps] == explored.levels()
    assert {str(event.args["why"]) for event in steps} >= {"first", "double", "soak", "beyond", "return_to_first"}
    assert steps[1].args["why"] == "double"
    assert float(steps[1].args["efficiency"] or 0) == pytest.approx(1.0)


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
    assert explored.commands()[-1].args["verification"] == "verified"


def test_each_step_of_the_verification_has_its_users_and_seconds(explored: KneeSearch) -> None:
    steps = [event.args for event in explored.commands() if event.name == "users"][-3:]
    assert [(step["why"], step["users"], step["least_s"]) for step in steps] == [
        ("soak", 35, 20.0), ("beyond", 60, 6.0), ("return_to_first", 1, 6.0),
    ]  # fmt: skip
    assert all(step["most_s"] for step in steps)


def test_the_interval_of_the_autopilots_knee_includes_the_error_of_few_short_levels(explored: KneeSearch) -> None:
    knee = explored.run.timeline.verdicts[0].capacity.knee
    assert knee is not None
    assert knee.users
    assert knee.users_low
    assert knee.users_high
    assert (knee.users_high - knee.users_low) / knee.users > 0.3  # the structural error is 12%, not 6% as of many or long levels


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
    ended = search.commands()[-1].args
    assert (ended["end"], ended["kind"], round(float(ended["knee_users"] or 0))) == ("done", "knee", 50)


def test_the_autopilot_gives_up_if_other_processes_use_the_cpu(tmp_path: Path) -> None:
    search = KneeSearch(
        tmp_path / "disturbed.jsonl",
        slowed_by_other_processes,
        target=TARGET_WAITING_FOR_CPU,
        neighbours=NeighboursReading(cpu_ratio=1.4),
    )
    search.run_autopilot()
    ended = search.commands()[-1].args
    assert (ended["end"], ended["why"], ended["left_out"]) == ("gave_up", "neighbours", 3)
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
    ended = search.commands()[-1].args
    assert (ended["end"], ended["why"], ended["kind"], ended["knee_users"]) == ("gave_up", "max_users", "no_knee", 20)
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
    assert command.name == "autopilot"
    assert command.args["on"] is False
    assert (command.args["why"], command.args["who"]) == ("taken_over", "user")
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


# -- steps by hand and changes of the driver


@pytest.fixture(scope="module")
def observed() -> Played:
    """The answers of `tests/run/scenes/changes_of_driver.py`, played in a fresh process."""
    return play("run.scenes.changes_of_driver")


def test_a_step_by_hand_ends_the_autopilot_and_its_next_step_is_refused(observed: Played) -> None:
    assert observed["step_by_hand_during_autopilot"] == {
        "autopilot step": 1.0,
        "users after it": 5,
        "step by hand": 3.0,
        "users after the step by hand": 8,
        "the autopilot steps on": False,
        "later autopilot step": None,
        "users at the end": 8,
    }


def test_a_step_by_hand_prevails_over_concurrent_steps_of_the_autopilot(observed: Played) -> None:
    assert observed["concurrent_step_by_hand"] == {"users at the end": 7, "the autopilot steps on": False}


def test_reports_of_a_shape_are_dropped_after_another_driver_has_begun(observed: Played) -> None:
    assert observed["reports_of_a_former_shape"] == {
        "report": True,
        "users after it": 5,
        "report after a step by hand": False,
        "users after that": 3,
        "report during a plan": False,
        "users at the end": 3,
    }


def test_steps_and_the_end_of_a_former_plan_are_dropped(observed: Played) -> None:
    assert observed["moves_of_a_former_plan"] == {
        "step of the former plan": None,
        "the former plan started the autopilot": False,
        "step of the present plan": 2.0,
        "the present plan started the autopilot": True,
        "users at the end": 4,
    }


# -- options


def test_autopilot_and_plan_exclude_each_other() -> None:
    from capexplorer.commands.run.arguments import RunArguments
    from capexplorer.commands.run.resolving import resolve

    with pytest.raises(InputError, match="--autopilot: cannot be combined with --plan"):
        resolve(RunArguments(profile="mixed", autopilot="users", plan="10:5s"))


def test_the_autopilot_begins_at_one_user_by_default() -> None:
    from capexplorer.commands.run.arguments import RunArguments
    from capexplorer.commands.run.resolving import resolve

    assert resolve(RunArguments(profile="sleepers", autopilot="users")).start_users == 1
    assert resolve(RunArguments(profile="sleepers", autopilot="users", users=10)).start_users == 10

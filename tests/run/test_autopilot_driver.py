"""The autopilot as the driver of a run: its input, its commands, and what happens when someone takes over."""

from __future__ import annotations

from pathlib import Path

import pytest
from load.patched import Played, play

from capexplorer import wording
from capexplorer.errors import InputError
from capexplorer.model.events import Mark
from capexplorer.model.readings import NeighboursReading
from capexplorer.run.current_epoch import CurrentEpoch

from .search import STARVED, Search, shedding, starved


def test_an_exploration_finds_the_knee_and_ends_at_rest(search: Search) -> None:
    search.go()
    command = search.commands()[-1]
    assert (command.name, command.by, command.args["on"], command.args["end"], command.args["kind"]) == (
        "autopilot", "autopilot", False, "done", "knee",
    )  # fmt: skip
    assert float(command.args["knee_users"] or 0) == pytest.approx(50, rel=0.05)
    assert search.levels()[0] == search.levels()[-1] == (1, "autopilot")
    assert search.finished and search.finished[0].startswith("autopilot finished: knee 50 [")


def test_a_saturated_generator_gets_another_worker_and_the_search_finds_the_knee(tmp_path: Path) -> None:
    search = Search(tmp_path / "growing.jsonl", most_workers=6)
    search.go(600)
    command = search.commands()[-1]
    assert (command.args["end"], command.args["kind"]) == ("done", "knee"), command.args
    assert float(command.args["knee_users"] or 0) == pytest.approx(50, rel=0.1)
    assert search.run.tracker.workers >= 4
    search.run.end()


def test_a_generator_that_may_not_grow_is_the_limit(tmp_path: Path) -> None:
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


def test_each_step_to_a_verified_knee_is_reported(search: Search) -> None:
    search.go()
    steps = [event for event in search.commands() if event.name == "users"]
    texts = [wording.command(event).partition("autopilot: ")[2] for event in steps[-3:]]
    assert texts[0].startswith("knee 50 [") and texts[0].endswith(": soak at 70% of it, to verify it")
    assert texts[1:] == ["20% beyond the knee, to verify it", "back to the first level, to check whether the service has changed"]
    assert wording.verifying(steps[-3].args, 12.0) == "verifying: soak at 35 users, 12 s of 20 s"
    assert wording.verifying(steps[-2].args, 9.0) == "verifying: 60 users, 20% beyond the knee, 9 s, at most 18 s"
    assert wording.verifying(steps[-1].args, 3.0) == "verifying: back at 1 user, 3 s of 6 s"
    assert wording.verifying(steps[0].args, 3.0) is None


def test_the_autopilots_knee_is_judged_with_the_structural_error_of_few_short_levels(search: Search) -> None:
    search.go()
    knee = search.run.timeline.verdicts[0].capacity.knee
    assert knee is not None
    assert knee.users
    assert knee.users_low
    assert knee.users_high
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


def test_what_a_session_did_before_is_not_a_reason_to_give_up(search: Search) -> None:
    """It once took the age of the session for that of the level, and gave up on whatever had not settled after 90 s."""
    search.run.step(5, "user")
    for _ in range(120):
        search.run.second(10, 100.0, 0)
    search.load_target.wanted = 5
    search.go()
    assert search.finished and search.finished[0].startswith("autopilot finished: knee 50 [")


def test_the_autopilot_ends_without_a_knee_if_other_processes_use_the_machine(tmp_path: Path) -> None:
    search = Search(tmp_path / "held.jsonl", starved, target=STARVED, neighbours=NeighboursReading(cpu_ratio=1.4))
    search.go()
    assert search.finished == [
        "autopilot gave up: other processes use the machine's CPU; 3 levels left out because other processes used the CPU"
    ]
    knee = search.run.timeline.verdicts[0].capacity.knee
    assert knee is not None and knee.kind == "no_knee"
    assert search.levels()[-1] == (1, "autopilot"), "at rest"
    search.run.end()


def test_at_max_users_the_autopilot_ends_at_the_lowest_level(tmp_path: Path) -> None:
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


def test_an_autopilot_that_is_switched_on_again_continues_from_the_measured_levels(search: Search) -> None:
    search.go(seconds=60)
    search.driver.end()
    known = len(search.levels())
    search.go()
    assert search.levels()[known:][0][0] > 12
    assert search.finished


def test_the_autopilot_takes_no_step_while_there_is_no_service(search: Search) -> None:
    search.load_target.is_open = False
    search.go(seconds=0)
    assert search.levels() == []


# -- taking over, and the options


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("run.scenes.taken_over")


def test_any_other_step_ends_the_autopilot_and_its_next_one_is_refused(seen: Played) -> None:
    assert seen["taken_over"] == [1.0, 5, 3.0, 8, False, None, 8]


def test_a_step_by_hand_prevails_over_a_concurrent_step_of_the_autopilot(seen: Played) -> None:
    assert seen["raced"] == {"wanted": 7, "autopilot_steps": False}


def test_reports_of_a_shape_that_was_taken_over_are_dropped(seen: Played) -> None:
    assert seen["former_shape"] == [True, 5, False, 3, False, 3]


def test_moves_and_the_end_of_a_former_plan_are_dropped(seen: Played) -> None:
    assert seen["former_plan"] == [None, False, 2.0, True, 4]


def test_autopilot_and_plan_exclude_each_other() -> None:
    from capexplorer.commands.resolving import resolve
    from capexplorer.commands.run_arguments import RunArguments

    with pytest.raises(InputError, match="--autopilot: cannot be combined with --plan"):
        resolve(RunArguments(profile="mixed", autopilot="users", plan="10:5s"))


def test_the_autopilot_begins_at_one_user_by_default() -> None:
    from capexplorer.commands.resolving import resolve
    from capexplorer.commands.run_arguments import RunArguments

    assert resolve(RunArguments(profile="sleepers", autopilot="users")).start_users == 1
    assert resolve(RunArguments(profile="sleepers", autopilot="users", users=10)).start_users == 10

"""Four of the kills of `make kills`, chosen to cover each user interface, stage and victim; and the checks of its results."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import require

from lab.kit.terminal import modes_left_on
from lab.trials.kills.trial import PROGRAMS, carry_out, judge_logs, kill

pytestmark = pytest.mark.slow

SEEDS = (0, 20, 39, 58)
"""Each is one random kill (`lab/trials/kills`)."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_run_leaves_no_process_behind_and_a_log_that_can_be_read(tmp_path: Path, seed: int) -> None:
    require(*PROGRAMS.get(kill(seed).service, ()))
    assert carry_out(kill(seed), tmp_path).wrong == ()


def test_the_four_kills_cover_every_surface_victim_and_stage() -> None:
    kills = [kill(seed) for seed in SEEDS]
    assert {each.surface for each in kills} == {"headless", "terminal"}
    assert {each.victims for each in kills} == {"app", "supervisor", "both"}
    assert {each.stage for each in kills} == {"starting", "spawning", "steady", "quitting"}
    assert {each.service for each in kills} >= {"nginx", "daemon", "gunicorn"}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_missing_log_is_a_problem_unless_the_run_was_killed_while_starting(tmp_path: Path, seed: int) -> None:
    assert judge_logs(tmp_path, 0.0, kill(seed)).wrong == (() if kill(seed).stage == "starting" else ("no log",))


def test_terminal_modes_that_were_not_restored_are_detected() -> None:
    assert modes_left_on("\x1b[?1049h\x1b[?25l\x1b[?7l") == ["1049", "25", "7"]
    assert modes_left_on("\x1b[?1049h\x1b[>1u\x1b[?1049l") == ["keyboard"]
    assert modes_left_on("\x1b[?1049h\x1b[>1u\x1b[<u\x1b[?1049l") == []

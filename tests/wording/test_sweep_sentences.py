"""The sentence about a sweep, the remarks of its rows, and the step that a run is at."""

from __future__ import annotations

from typing import Any

import pytest
from kit.scenario import Scenario
from msgspec.structs import replace

from capexplorer import wording
from capexplorer.model.events import Sweep, Target, Verdict
from capexplorer.model.sweep import Params, SettingResult
from capexplorer.model.verdicts import CapacityVerdict, KneeEvidence, KneeVerdict, Verification
from capexplorer.report.sweep.findings import Row, compared
from capexplorer.report.sweep.texts import lines, sentence, table


def row(threads: int, per_s: float | None, error: float = 0.01, **fields: Any) -> Row:
    found = KneeVerdict(
        kind="knee", users=20.0, users_low=18.0, users_high=22.0, capacity_rps=per_s, limit="queueing", confidence="high",
        evidence=KneeEvidence(levels_beyond=3), verification=Verification(state="verified", steps=()),
    )  # fmt: skip
    usual: dict[str, Any] = {
        "session": "s", "epoch": 0, "ended": "done", "per_s": per_s, "se_per_s": per_s and error * per_s,
        "knee": found if per_s else None, "p95_ms": 120.0, "p95_at": 20.0, "levels": 8,
    }  # fmt: skip
    return Row({"threads": threads}, SettingResult(params={"threads": threads}, **(usual | fields)))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            (row(2, 76), row(4, 151), row(8, 152)),
            "threads=4 is enough, 151/s [149–153]: threads=8 brings +0.7% [-4.5% to +6.1%], 152/s [149–155]."
            " Less: threads=2 -50% [-53% to -47%].",
        ),
        ((row(1, 38), row(2, 76)), "threads=2 is the best: 76/s [74.7–77.3]. Less: threads=1 -50% [-53% to -47%]."),
        (
            (row(4, 130, error=0.1), row(8, 150, error=0.1)),
            "threads=8 made the most: 150/s [125–175]. No sure difference: threads=4 -13% [-33% to +12%].",
        ),
        (
            (row(4, 100), row(8, 180, is_least=True), Row({"threads": 16})),
            "threads=8 made the most, at least 180/s, and reached no limit. Less: threads=4 -44% [-47% to -41%]."
            " Not explored: threads=16.",
        ),
        (
            (row(4, 100), row(8, 102, is_least=True)),
            "Where a limit was reached, threads=4 is the best: 100/s [98.4–102]. No limit was reached: threads=8 at least 102/s.",
        ),
        (
            (row(1, None, ended="failed"), row(2, None), row(3, 50, is_disturbed=True)),
            "No settings can be compared. Did not run: threads=1. Without a capacity: threads=2."
            " Disturbed by other processes, so not compared: threads=3 (50/s [49.2–50.8]).",
        ),
        (
            (replace(row(1, 100), params={"store": "a"}), replace(row(2, 101), params={"store": "b"})),
            "The most is reached with store=a (100/s [98.4–102]), store=b (101/s [99.3–103]).",
        ),
        (
            (row(2, 76), row(4, 151, are_others_busy=True)),
            "threads=4 is the best: 151/s [149–153]. Less: threads=2 -50% [-52% to -47%]."
            " Other processes were busy meanwhile: repeat what matters on a quiet machine.",
        ),
        ((row(2, None),), "No setting has a capacity yet. Without a capacity: threads=2."),
    ],
)
def test_the_sentence_says_what_is_enough_what_more_brings_and_what_is_not_known(rows: tuple[Row, ...], said: str) -> None:
    assert sentence(compared(rows, finds_rate=False)) == said


@pytest.mark.parametrize(
    ("of", "remarks"),
    [
        (row(2, 100), ""),
        (row(2, None, ended="failed", why="exit code 1"), "failed: exit code 1"),
        (row(2, 100, ended="gave_up", why="max_users"), "gave up: the limit max_users is reached"),
        (row(2, 100, ended="budget"), "its time was spent"),
        (row(2, 100, ended=None), "not ended"),
        (row(2, 100, disturbed_levels=1), "1 level of 8 disturbed"),
        (row(2, 100, are_others_busy=True), "other processes were busy"),
        (row(2, 100, is_disturbed=True), "other processes used the CPU: not compared"),
        (Row({"threads": 2}), "not explored"),
    ],
)
def test_remarks_say_how_a_search_ended_and_what_speaks_against_its_figures(of: Row, remarks: str) -> None:
    assert table(compared((of,), finds_rate=False)).rows[0][-1] == remarks


def test_a_row_has_the_knee_the_capacity_and_the_latency_with_their_loads() -> None:
    cells = table(compared((row(2, 100),), finds_rate=False)).rows[0]
    assert cells == (
        "threads=2",
        "20 [18–22]",
        "100/s [98.4–102]",
        "best",
        "120 ms at 20 users",
        "queueing",
        "high, verified",
        "",
    )


def test_in_a_terminal_limits_and_remarks_are_below_the_table() -> None:
    found = compared((row(2, 100, ended="budget"), Row({"threads": 16})), finds_rate=False)
    assert lines(found) == [
        "setting     knee, users          capacity  against the best                 p95  confidence",
        "threads=2    20 [18–22]  100/s [98.4–102]              best  120 ms at 20 users  high, verified",
        "threads=16            –                 –                 –                   –  –",
        "",
        "threads=2: queueing; its time was spent",
        "threads=16: not explored",
    ]


def test_a_run_says_which_setting_it_explores() -> None:
    settings: tuple[Params, ...] = ({"threads": 1}, {"threads": 2}, {"threads": 4})
    earlier = SettingResult(params={"threads": 4}, session="a", epoch=0)
    found = Scenario().add(Sweep(t_s=0.0, settings=settings, earlier=(earlier,)))
    assert wording.sweep_step(found.timeline) == ""
    found.add(Target(t_s=1.0, state="starting", params={"threads": 1, "store": "a"}))
    assert wording.sweep_step(found.timeline) == "sweep 2 of 3: threads=1"
    found.add(Target(t_s=1.0, state="starting", epoch=1, params={"threads": 2, "store": "a"}))
    assert wording.sweep_step(found.timeline) == "sweep 3 of 3: threads=2"
    assert wording.sweep_step(Scenario().ready().timeline) == ""


def test_findings_of_a_sweep_are_named_by_their_setting() -> None:
    settings: tuple[Params, ...] = ({"threads": 1}, {"threads": 2})
    found = Scenario().add(Sweep(t_s=0.0, settings=settings))
    for epoch, params in enumerate(settings):
        found.add(Target(t_s=found.t_s, state="starting", epoch=epoch, params=params)).level(users=4, rps=20, epoch=epoch)
        found.add(Verdict(t_s=found.t_s, epoch=epoch, capacity=CapacityVerdict(knee=KneeVerdict(kind="no_knee", users=4))))
    assert wording.epoch_name(found.timeline, 1) == "threads=2"
    assert wording.verdict(found.timeline).startswith("threads=2: ")
    assert wording.epoch_title(Scenario().level(users=4).level(users=4, epoch=1).timeline, 1) == "Epoch 1"

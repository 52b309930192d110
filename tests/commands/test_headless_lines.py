"""What a headless run prints: lines with their times, each finding once, and on a terminal how far the plan is."""

from __future__ import annotations

import io
import re

import msgspec
import pytest
from kit.scenario import Scenario, header, second
from kit.stacks import stacks
from rich.console import Console

from capexplorer import paths, wording
from capexplorer.commands.run.exploring import Progress, how_far, level_line
from capexplorer.model.events import (
    Answered,
    Command,
    Event,
    LevelClosed,
    LevelOpened,
    Log,
    Mark,
    Proposed,
    Sample,
    StacksSampled,
    Target,
)
from capexplorer.model.figures import LevelBin, LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.load import Drops, OfferedFigures
from capexplorer.model.proposals import Hold
from capexplorer.model.requirements import CapacityAnswer, CapacityRequired
from capexplorer.model.stages import StageFigures
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import open_session
from capexplorer.steer.plan import parse


def closed(figures: LevelFigures, *bins: LevelBin, users: int = 40, offered_per_s: float | None = None) -> LevelClosed:
    users = 0 if offered_per_s else users
    return LevelClosed(t_s=30.0, index=0, users=users, offered_per_s=offered_per_s, started_s=0.0, figures=figures, bins=bins)


def bin_of(users: float, goodput_rps: float | None) -> LevelBin:
    return LevelBin(users=users, figures=LevelFigures(settled=True, goodput_rps=goodput_rps))


def bin_at(rate: float, finished: float) -> LevelBin:
    offered = OfferedFigures(offered_per_s=rate, finished_per_s=finished)
    return LevelBin(users=9.0, figures=LevelFigures(settled=True, offered=offered))


UNSETTLED = LevelFigures(settled=False, failures_while_unsettled=7)
SETTLED = LevelFigures(
    settled=True, settled_seconds=20.0, goodput_rps=120.0, goodput_se_rps=1.0, latency_ms=Latency(p95=12.0), failures=3
)
STREAMED = msgspec.structs.replace(
    SETTLED, stages={"ttft": StageFigures(ms=Latency(p95=4.5)), "tpot": StageFigures(ms=Latency(p95=0.25))}
)
OFFERED = OfferedFigures(
    offered_per_s=200.0, finished_per_s=151.2, finished_se_per_s=1.0, failed=2, dropped=Drops(target=90, stopped=3),
    from_plan_ms=Latency(p95=812.5),
)  # fmt: skip


@pytest.mark.parametrize(
    ("level", "line"),
    [
        (closed(SETTLED), "level    40 users: goodput 120.0 ± 2.0/s, p95 12 ms, 3 failures in 20 settled seconds"),
        (closed(STREAMED), "level    40 users: goodput 120.0 ± 2.0/s, p95 12 ms, ttft p95 4.5 ms, tpot p95 0.25 ms, "
         "3 failures in 20 settled seconds"),
        (closed(UNSETTLED), "level    40 users: did not settle, 7 failures"),
        (closed(UNSETTLED, users=1), "level      1 user: did not settle, 7 failures"),
        (closed(UNSETTLED, bin_of(10.0, 31.0), bin_of(38.5, 45.31), bin_of(39.5, 44.0), bin_of(40.0, None)),
         "ramp to 40 users: goodput at most 45.3/s at 38.5 users"),
        (closed(UNSETTLED, bin_of(3.0, None)), "ramp to 40 users: no goodput measured"),
        (closed(LevelFigures(settled=True, settled_seconds=20.0, offered=OFFERED), offered_per_s=200.0),
         "level   200/s offered: finished 151.2 ± 2.0/s, p95 from plan 812 ms, 2 failed, "
         "93 dropped (all users wait for the target: 90, the load ended: 3) in 20 settled seconds"),
        (closed(UNSETTLED, offered_per_s=200.0), "level   200/s offered: did not settle, 7 failures"),
        (closed(UNSETTLED, bin_at(10.0, 10.0), bin_at(60.0, 45.31), bin_at(80.0, 40.0), offered_per_s=200.0),
         "ramp to 200/s offered: at most 45.3/s finished at 60/s offered"),
    ],
)  # fmt: skip
def test_the_line_of_a_level_has_its_figures(level: LevelClosed, line: str) -> None:
    assert level_line(level) == line


def test_why_a_level_did_not_settle_is_either_its_users_or_its_length() -> None:
    short = msgspec.structs.replace(closed(LevelFigures(settled=False, warm_ratio=1.0)), settling_s=9.0)
    cold = msgspec.structs.replace(short, figures=LevelFigures(settled=False, warm_ratio=0.25))
    assert ("9 s" in level_line(short), "warm" in level_line(short)) == (True, False)
    assert ("9 s" in level_line(cold), "25% of its users warm" in level_line(cold)) == (False, True)


def printed(events: list[Event]) -> list[str]:
    stderr = io.StringIO()
    progress = Progress(stderr)
    for event in events:
        progress.take([event])
    return stderr.getvalue().splitlines()


@pytest.mark.parametrize("sample", sorted(paths.sample_sessions()))
def test_each_line_has_its_time_and_each_finding_is_printed_in_full_once(sample: str) -> None:
    with open_session(paths.sample_sessions()[sample]) as log:
        events = list(log)
    lines = printed(events)
    assert [line for line in lines if not re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  (\d+:)?\d\d:\d\d  \S", line)] == []
    times = [line.split(maxsplit=1)[0] for line in lines]
    said = [line.split("  ", 2)[2] for line in lines]
    assert [each for each in set(said) if said.count(each) > 1 and not each.startswith("level")] == []
    assert times == sorted(times)
    marks = [
        event for event in events if isinstance(event, Mark) and not (event.kind == "bottleneck" and event.severity == "info")
    ]
    for key in {mark.key for mark in marks}:
        full = {wording.mark(mark) for mark in marks if mark.key == key and wording.mark(mark) != wording.short_sentence(mark)}
        assert len([line for line in lines if line.partition(": ")[2] in full]) <= 1, key


def test_what_a_run_warns_of_before_users_run_is_printed_and_later_warnings_are_in_the_log() -> None:
    warnings = [Log(t_s=t_s, source="capexplorer", level="warning", text=f"warning of {t_s:g}") for t_s in (0.0, 90.0)]
    events = [*Scenario().ready().events, warnings[0], *Scenario().level(users=4, rps=90).events, warnings[1]]
    assert [line.split("  ")[-1] for line in printed(events) if "warning of" in line] == ["warning of 0"]


def test_a_ready_service_whose_process_is_not_seen_is_said_to_be_so() -> None:
    ready = Target(t_s=0.0, state="ready", reason=wording.UNSEEN_SERVICE)
    [line] = [line for line in printed([header(), ready]) if "ready" in line]
    assert line.endswith(wording.UNSEEN_SERVICE)


def test_of_a_cause_with_three_episodes_only_the_first_line_has_readings_and_advice() -> None:
    with open_session(paths.sample_sessions()["sample-ports"]) as log:
        events = list(log)
    churn = [event for event in events if isinstance(event, Mark) and event.id == "connection_churn" and event.state != "updated"]
    assert len(churn) >= 3
    shown = [line.partition(": ")[2] for line in printed(events) if wording.title(churn[0]) in line]
    assert shown[0].startswith(f"{wording.short_sentence(churn[0])}: ")
    assert shown[1:] == [wording.short_sentence(mark) for mark in churn[1:]]


def test_a_log_has_no_control_character_where_colours_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """CI systems set these variables."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.setenv(name, "1")
    with open_session(paths.sample_sessions()["sample-autopilot"]) as log:
        lines = printed(list(log))
    assert len(lines) > 10
    assert [line for line in lines if not line.isprintable()] == []


def test_a_log_has_a_line_for_each_level_of_the_autopilot_and_none_for_its_steps() -> None:
    with open_session(paths.sample_sessions()["sample-autopilot"]) as log:
        events = list(log)
    said = [line.split("  ", 2)[2] for line in printed(events)]
    assert len([line for line in said if line.startswith("level")]) == len([e for e in events if isinstance(e, LevelClosed)])
    steps = [wording.command(e) for e in events if isinstance(e, Command) and e.by == "autopilot"]
    assert set(steps) & set(said) == {steps[-1]}, "that it has finished"


def test_after_a_minute_of_silence_a_line_says_what_is_done() -> None:
    opened = LevelOpened(t_s=0.0, index=0, users=4, spawn_rate=1.0, by="plan")
    stderr = io.StringIO()
    progress = Progress(stderr, parse("4:5m", "plan", 1_000))
    progress.take([header(), opened])
    for second_s in range(1, 151):
        progress.take([second(float(second_s), rps=7, latency_ms=20.0, users=4, p95_ms=20.0)])
    lines = [line.split("  ", 2)[1:] for line in stderr.getvalue().splitlines()]
    assert lines == [
        ["01:00", "20%, step 1 of 1, 04:00 left; 7/s, p95 20 ms"],
        ["02:00", "40%, step 1 of 1, 03:00 left; 7/s, p95 20 ms"],
    ]


def test_the_line_of_a_level_in_which_stacks_were_sampled_has_the_tool_and_its_cost() -> None:
    scenario = Scenario().ready().level(20, rps=100).level(20, rps=98, stacks=True, is_closed=False)
    scenario.add(StacksSampled(t_s=scenario.t_s, level=1, sampled=(stacks({"run": 1.0}),))).close().level(20, rps=100)
    lines = [line for line in printed(scenario.events) if "level" in line]
    assert ["stacks" in line for line in lines] == [False, True, False]
    said = "12 settled seconds; stacks sampled by py-spy 0.4.1 for 10 s; while stacks were sampled 98/s (-2.0% ± 0%)"
    assert lines[1].endswith(said)


def test_what_is_decided_is_said_once_without_the_figures_of_the_end() -> None:
    required = CapacityRequired(100.0)
    open_, met = CapacityAnswer(required=required), CapacityAnswer(required=required, state="met", per_s=151.0, low_per_s=148.0)
    answers = [Answered(t_s=float(t_s), answers=(each,)) for t_s, each in enumerate((open_, met, met), 10)]
    (line,) = printed([header(), *answers])
    assert wording.text_of(required) in line
    assert wording.answer(met) not in line


def bar_after(plan: str, levels: int, seconds: float) -> str:
    """The line of the bar: `seconds` after the last of so many levels of a plan was opened, at the rate of one level in 10 s."""
    timeline, steps = Timeline(), parse(plan, "plan", 1_000)
    for index in range(levels):
        timeline.apply(LevelOpened(t_s=10.0 * index, index=index, users=index + 1, spawn_rate=1.0, by="plan"))
    if levels:
        at_s = 10.0 * (levels - 1) + seconds
        timeline.apply(Sample(t_s=at_s, duration_s=1.0, level=levels - 1, users=1, wanted=1, phase="settled"))
    written = io.StringIO()
    Console(file=written, width=80).print(how_far(timeline, steps))
    return " ".join(written.getvalue().replace("━", "").replace("╸", "").replace("╺", "").split())


@pytest.mark.parametrize(
    ("levels", "seconds", "expected"),
    [
        (0, 0.0, "0%, step 0 of 4, 00:40 left"),
        (1, 5.0, "12%, step 1 of 4, 00:35 left"),
        (3, 5.0, "62%, step 3 of 4, 00:15 left"),
        (4, 10.0, "100%, step 4 of 4, 00:00 left"),
        (4, 25.0, "100%, step 4 of 4, 00:00 left"),
    ],
)
def test_the_bar_shows_the_share_of_the_plans_time_that_has_passed(levels: int, seconds: float, expected: str) -> None:
    assert bar_after("1:10s,2:10s,3:10s,4:10s", levels, seconds) == expected


PLAN_THEN_SEARCH = "1:10s, 2:10s, find knee, hold 60% knee 24h, verify"


@pytest.mark.parametrize(
    ("plan", "by_plan", "proposal", "line"),
    [
        (PLAN_THEN_SEARCH, 2, Hold("plan", 3.0, 3.0), "step 2 of 5: 4 users; this step ends in 3 s"),
        (PLAN_THEN_SEARCH, 2, Hold("settling"), "step 3 of 5, finding the knee: settling at 4 users"),
        (PLAN_THEN_SEARCH, 3, Hold("plan"), "step 4 of 5: 4 users"),
        (PLAN_THEN_SEARCH, 3, Hold("measuring", level="soak"), "step 5 of 5, verifying the knee: soak at 4 users"),
        ("find knee", 0, Hold("settling"), "step 1 of 1, finding the knee: settling at 4 users"),
        ("", 0, Hold("settling"), "finding the knee: settling at 4 users"),
        ("", 2, Hold("plan"), "level 2 of the shape: 4 users"),
    ],
)
def test_without_a_known_end_a_line_says_what_is_done_now(plan: str, by_plan: int, proposal: Hold, line: str) -> None:
    """A plan with the autopilot's steps, the autopilot alone (after its first level), and a shape."""
    opened: list[Event] = [
        LevelOpened(t_s=10.0 * index, index=index, users=4, spawn_rate=1.0, by="plan") for index in range(by_plan)
    ]
    first = LevelOpened(t_s=0.0, index=0, users=4, spawn_rate=1.0, by="autopilot")
    timeline = Timeline([*(opened or [first]), Proposed(t_s=60.0, proposal=proposal)])
    written = io.StringIO()
    Console(file=written, width=80).print(how_far(timeline, parse(plan, "plan", 1_000) if plan else ()))
    assert written.getvalue() == f"{line}\n"

"""The explorer screen with a fake source and fake controls, key by key: each key is one control, and shows its result at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from textual.widgets import Input, OptionList

from capexplorer.model.controls import (
    AddNote,
    AskControls,
    ChangeWorkers,
    Control,
    EndRun,
    GiveControls,
    NewLevel,
    Require,
    RestartTarget,
    SetAutopilot,
    SetSpawnRate,
    SetStep,
    StartPlan,
    State,
    StepTo,
    TryExperiment,
    VerifyKnee,
    WatchPart,
    Zero,
)
from capexplorer.model.events import Command, Ended, LevelOpened, Log, Proposed, Target, Verdict
from capexplorer.model.experiments import Experiment
from capexplorer.model.load import NO_LOAD, Rate, Users
from capexplorer.model.proposals import AddWorker, Decide, Done, GiveUp, GoTo, Hold, Proposal, Try
from capexplorer.model.requirements import PercentileRequired
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict, Verification, VerificationStep
from capexplorer.tui.actions import watching
from capexplorer.tui.actions.steering import AttachedRunActions, load_of, offered_rate_error, spawn_rate_error, users_error
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.app import Ending
from capexplorer.tui.dialogs import Ask, Confirm, Quit, TargetForm
from capexplorer.tui.display_options import Palette
from capexplorer.tui.keybar import rows
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.status import controls, next_step
from capexplorer.tui.protocols import View
from capexplorer.tui.screens.arrangement import PANES, SMALL
from capexplorer.tui.screens.explorer import ExplorerScreen
from capexplorer.tui.screens.help import Help

from .session_events import HOSTILE_TEXT, SessionMaker, died, header, session
from .stage import HUGE, NARROW, WIDE, Stage, Step, did, hides, on, panes, says, shows, tell, typed
from .waiting import until

ALONE = Experiment(name="alone", endpoint="GET /a")
USERS = {users: StepTo(Users(users)) for users in (0, 2, 11, 12, 13, 52, 79, 94, 160, 161, 1_000)}
KEYS: dict[str, tuple[Control, ...]] = {
    "+": (USERS[2],),
    "=": (USERS[2],),
    "up": (USERS[2],),
    "-": (USERS[0],),
    "_": (USERS[0],),
    "down": (USERS[0],),
    "]": (SetStep(2),),
    ".": (SetStep(2),),
    "] ] [": (SetStep(2), SetStep(5), SetStep(2)),
    "] ] ,": (SetStep(2), SetStep(5), SetStep(2)),
    "m": (NewLevel(),),
    "W W ctrl+w": (ChangeWorkers(add=True), ChangeWorkers(add=True), ChangeWorkers(add=False)),
    "h 'db=pid space 7 enter": (WatchPart("db=pid 7"),),
    "x": (Zero(),),
    "o 'knee>=40 enter": (Require("knee>=40"),),
    "g 2 enter": (USERS[2],),
    "r 5 enter": (SetSpawnRate(5.0),),
    "r enter": (SetSpawnRate(None),),
    "n 'hi enter": (AddNote("hi"),),
    "t enter": (RestartTarget({}),),
    "g '50 enter": (StepTo(Users(50)),),
}


async def test_a_key_is_one_control_even_before_the_first_event() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        for keys, calls in KEYS.items():
            await pilot.press("[", "[")  # back to steps of 1
            stage.controls.calls = []
            stage.controls.change(load=Users(1), spawn_rate=None)
            await pilot.press(*typed(keys))
            await until(pilot, lambda calls=calls: did(*calls)(stage), (keys, calls, stage.controls.calls))  # type: ignore[misc]


def proposing(proposal: Proposal) -> Callable[[], Stage]:
    """A screen of a session at 80 users that ends with this proposal."""
    return partial(Stage, [*session(), Proposed(t_s=70.0, proposal=proposal)], wanted=80)


def with_knee(*, verified: bool = False) -> Verdict:
    step = VerificationStep(name="soak", users=33, least_s=20.0, most_s=40.0, measured_users=33 if verified else None)
    checked = Verification(state="verified" if verified else "provisional", steps=(step,))
    return Verdict(t_s=60.0, capacity=CapacityVerdict(knee=KneeVerdict(kind="knee", users=47.0, verification=checked)))


def load(load: Users | Rate) -> Step:
    """Another driver sets the load; the key ] draws it."""
    return (lambda stage: stage.controls.change(load=load),)


def typing(text: str) -> Step:
    """Text into the open prompt, then Enter."""

    def type_it(stage: Stage) -> None:
        stage.app.screen.query_one(Input).value = text

    return type_it, lambda stage: stage.app.screen.query_one(Input).value == text


GRID = ("throughput", "latency", "curve", "resources")
FILLING = {
    "f": "failures", "d": "failures", "O": "log", "5": "endpoints", "6": "journal", "9": "parts", "z": "latency",
}  # fmt: skip
"""Panes that fill the screen, by the key that leads to them."""
ALL_SIX = tuple(name for name, _ in PANES[:6])
STEP_TO_94 = GoTo(94, "double", {"efficiency": 0.97}, least_s=8.0, most_s=20.0)
STEPPED = Command(t_s=70.0, name="users", by="autopilot", args={"users": 94, "before": 47, "why": "double", "efficiency": 0.97})
SOAK = Command(t_s=70.0, name="users", by="autopilot", args={"users": 33, "why": "soak", "least_s": 20.0, "most_s": 40.0})
CLOSED = on(ExplorerScreen)
ON, OFF = SetAutopilot(on=True), SetAutopilot(on=False)
ELSEWHERE = State(holds=False, holder="pts/3", screens=2, load=Users(10))
HELD: dict[str, Any] = {"holder": "pts/0", "screens": 2}
AWAY: dict[str, Any] = {"holds": False, "holder": "pts/3", "screens": 2}
REFUSED = says("pts/3 has the controls; c asks for them")
Under = partial(Stage, session())
Attached = partial(Stage, session(), wanted=10, unattended_s=300.0, actions=AttachedRunActions)
Watching = partial(Stage, session(), wanted=10, actions=lambda controls: ViewOnlyActions())

STORIES: dict[str, tuple[Callable[[], Stage], list[Step]]] = {
    # the load
    "steps add up and show at once": (Stage, [("+ + + ] -", shows("users 0 → 2", "step 2"))]),
    "users or a rate": (
        Stage,
        [
            ("u", did(), shows("step 1/s")),
            ("] + + - g 7 enter", did(SetStep(2), *(StepTo(Rate(rate)) for rate in (2.0, 4.0, 2.0, 7.0)))),
            ("", shows("→ 7/s", "step 2/s")),
            ("a u +", lambda stage: stage.controls.calls[-2:] == [SetAutopilot(on=True, finds_rate=True), USERS[2]]),
        ],
    ),
    "the unit follows the load of a plan": (
        Stage,
        [
            ("u u",),
            load(Rate(40.0)),
            ("]", shows("step 2/s")),
            load(NO_LOAD),
            ("]", shows("step 5/s")),
            load(Users(8)),
            ("]", shows("step 10 "), hides("step 10/s")),
        ],
    ),
    "sizes of steps": (
        Stage,
        [
            ("[", did(), shows("the smallest")),
            ("] " * 12, did(*map(SetStep, (2, 5, 10, 20, 50, 100, 200, 500)))),
        ],
    ),
    "a step at the limit": (partial(Stage, wanted=10, max_users=10), [("+", did(), shows("the limit is 10 users"))]),
    "a step beyond the limit": (
        partial(Stage, wanted=9, max_users=10),
        [("] +", shows("the limit is 10 users"), lambda stage: stage.controls.state.load == Users(10))],
    ),
    "more than 50 users": (Stage, [("g '51 enter", on(Confirm), did()), ("escape", CLOSED)]),
    "twice 26 users": (partial(Stage, wanted=26), [("g '52 enter", did(USERS[52])), ("g '999 enter", on(Confirm))]),
    "more than twice the highest": (
        partial(Under, wanted=80),
        [("g '161 enter", on(Confirm)), ("escape", did(), CLOSED), ("g '161 enter y", did(USERS[161]))],
    ),
    "twice the highest": (partial(Under, wanted=80), [("g '160 enter", did(USERS[160]), CLOSED)]),
    "a dead target": (partial(Stage, [*session(), died(70.0)], wanted=80), [("-", did(USERS[79]))]),
    "an ended session": (
        partial(Stage, [*session(), Ended(t_s=70.0, reason="stop rule: failure ratio")], wanted=80),
        [("+", shows("session ended: stop rule: failure ratio"), did())],
    ),
    "a screen that only watches": (Watching, [("+ x n t g", did(), shows("no load to steer"))]),
    # dialogs
    "a note as written": (Stage, [("n", on(Ask)), typing("[bold]x[/] 🎉 é"), ("enter", did(AddNote("[bold]x[/] 🎉 é")))]),
    "plans": (
        Stage,
        [
            ("p", on(Ask)),
            typing("report"),
            ("enter p", did(StartPlan("report")), on(Ask)),
            typing("10:30s, 20:30s"),
            ("enter p", did(StartPlan("report"), StartPlan("10:30s, 20:30s")), on(Ask)),
            typing("steep"),
            ("enter", shows("expected USERS:DURATION"), on(Ask)),
        ],
    ),
    "a restart of what was not started here": (
        Stage,
        [
            (lambda stage: setattr(stage.controls, "setup", replace(stage.controls.setup, can_restart=False)),),
            ("t", CLOSED, shows("not started by capexplorer")),
        ],
    ),
    "ctrl+c from a question": (
        Stage,
        [("n ctrl+c", on(Quit), lambda stage: len(stage.app.screen_stack) == 2), ("escape +", did(USERS[2]))],
    ),
    # the autopilot, and Enter
    "the autopilot": (
        Under,
        [
            ("a", did(ON), shows(" AUTOPILOT ")),
            ([STEPPED], shows("users → 94: goodput at 97% of linear scaling: larger step")),
            ("a", did(ON, OFF), hides(" AUTOPILOT "), shows("autopilot off")),
        ],
    ),
    **{
        f"{key} ends the autopilot": (
            partial(Under, wanted=10),
            [(f"a {key}", lambda stage: not stage.controls.state.autopilot, hides(" AUTOPILOT "))],
        )
        for key in "+-mx"
    },
    "a refused step ends the autopilot": (partial(Under, wanted=10, max_users=10), [("a +", did(ON, OFF))]),
    "verifying": (
        partial(Stage, [*session(), with_knee()]),
        [
            ("v", did(VerifyKnee())),
            (
                [SOAK, LevelOpened(t_s=70.0, index=90, users=33, spawn_rate=10.0, by="autopilot")],
                shows("verifying: soak at 33 users, 0 s of 20 s"),
            ),
            ("+", hides(" AUTOPILOT ")),
        ],
    ),
    "no knee to verify": (Under, [("v", did(), says("no knee to verify yet; press a to search for one"))]),
    "a verified knee": (
        partial(Stage, [*session(), with_knee(verified=True)]),
        [("v", did(), says("the knee is already verified"))],
    ),
    "a replay of the autopilot": (
        partial(Stage, [*session(), STEPPED], actions=lambda controls: ViewOnlyActions()),
        [
            ("", shows(" AUTOPILOT ")),
            (
                [Command(t_s=80.0, name="autopilot", by="autopilot", args={"on": False, "end": "done", "why": "knee"})],
                hides(" AUTOPILOT "),
            ),
        ],
    ),
    "a proposed step": (
        proposing(STEP_TO_94),
        [
            ("", shows(" NEXT  Enter: 94 users for 8–20 s; still scaling linearly (97%)")),
            ("enter enter", did(USERS[94]), shows("nothing to do yet")),
        ],
    ),
    "an experiment": (
        proposing(Try(80, ALONE, 9.0, 20.0)),
        [("", shows(" NEXT  Enter: 80 users, only GET /a, for 9–20 s")), ("enter", did(TryExperiment(80, ALONE)))],
    ),
    "a step to the same load": (proposing(GoTo(80, "beyond", {}, True, 8.0, 20.0)), [("enter", did(NewLevel()))]),
    "a proposed load that decides a requirement": (
        proposing(Decide(PercentileRequired(95.0, 300.0, Users(94)), Users(94))),
        [("", shows(" NEXT  Enter: 94 users; decides p95 <= 300ms @ 94 users")), ("enter", did(USERS[94]))],
    ),
    "a proposed worker": (proposing(AddWorker()), [("enter", did(ChangeWorkers(add=True)))]),
    "a found knee": (
        proposing(Done("knee")),
        [
            ("enter", shows("Export the session so far"), did()),
            ("escape", CLOSED),
            ([Proposed(t_s=71.0, proposal=GiveUp(10, "failures"))], shows(" NEXT ")),
            ("enter", panes("failures"), did()),
        ],
    ),
    "Enter under the autopilot": (
        proposing(Hold("measuring", 4.0, 12.0)),
        [("enter", did()), ("a enter", did(ON), hides(" NEXT "), shows("; next step in 4–12 s"))],
    ),
    # panes
    "one pane alone": (
        Under,
        [
            ("tab tab z", panes("curve", focus="curve")),
            ("z", panes(*GRID, focus="curve")),
            ("4 O", panes("log", focus="log")),
            ("O", panes(*GRID, focus="resources")),
        ],
    ),
    "panes by number and by Tab": (
        Under,
        [
            *((str(n), panes(*(GRID if n <= 4 else (name,)), focus=name)) for n, (name, _) in enumerate(PANES, 1)),
            ("tab", panes(*GRID, focus="throughput")),
            ("shift+tab", panes("parts")),
        ],
    ),
    "escape leaves a pane to the one before": (
        partial(Under, wanted=10),
        [
            step
            for key, pane in FILLING.items()
            for step in ((f"2 {key}", panes(pane)), ("escape", panes(*GRID, focus="latency"), did()))
        ],
    ),
    "one pane after another": (Under, [("2 5 f O escape", panes(*GRID, focus="latency"))]),
    "the cursor is left before the pane": (
        Under,
        [
            ("6 i escape", panes("journal"), lambda stage: not stage.app.explorer.inspecting.is_on),
            ("escape", panes(*GRID)),
            ("escape", says("nothing to leave; q quits, ? shows the keys")),
        ],
    ),
    "window and scale": (
        Under,
        [
            ("2 z w l", lambda stage: options_of_latency(stage) == (900.0, True, True)),
            ("w w", lambda stage: options_of_latency(stage)[0] == 60.0),
        ],
    ),
    "a log that cannot be written": (
        Under,
        [
            (
                [Log(t_s=62.0, source="capexplorer", level="critical", text="session log: no space left on device")],
                shows("session log: no space left on device"),
            )
        ],
    ),
    "between two samples": (
        partial(Stage, [header()]),
        [
            ("6",),
            (
                [Target(t_s=0.2, state="starting"), Command(t_s=0.3, name="users", args={"users": 7})],
                shows("starting", "users → 7"),
            ),
        ],
    ),
    "keys without an effect": (
        Under,
        [
            (key, says(f"{sign} has no effect here; ? shows the keys"), did())
            for key, sign in {**{each: each for each in "jkG"}, "slash": "/", "exclamation_mark": "!"}.items()
        ],
    ),
    "a colon": (Under, [("colon", lambda stage: len(stage.app.screen_stack) == 2)]),
    "a list as in less": (
        partial(Stage, session([(users, 3) for users in range(1, 40)])),
        [
            ("6 k k k", lambda stage: scrolled(stage) == 3),
            ("j", lambda stage: scrolled(stage) == 2),
            ("G", lambda stage: scrolled(stage) == 0, says(""), did()),
        ],
    ),
    # who has the controls
    "keys without the controls": (
        partial(Stage, session(), wanted=10, **AWAY),
        [
            step
            for key in ("plus", "minus", "x", "a", "m", "v", "p", "g", "r", "t")
            for step in (("j", says("j has no effect here; ? shows the keys")), (key, REFUSED, CLOSED, did()))
        ],
    ),
    "a note without the controls": (partial(Stage, session(), wanted=10, **AWAY), [("n 'ok enter", did(AddNote("ok")))]),
    **{
        f"{keys}, then the controls are gone": (
            partial(Stage, session(), wanted=10, **HELD),
            [(keys,), (lambda stage: stage.controls.change(holds=False, holder="pts/3"),), ("enter", REFUSED, did())],
        )
        for keys in ("g '40", "g '900 enter", "h 'db=here:pid space 7", "p")
    },
    **{
        answer: (partial(Stage, session(), wanted=10, **state), [("c", says(answer), did(*done))])
        for state, answer, done in (
            (AWAY, "pts/3 is asked for the controls", (AskControls(),)),
            ({**AWAY, "holder": None}, "this screen takes the controls", (AskControls(),)),
            ({**AWAY, "asked_by": "pts/4"}, "pts/4 asks for the controls already: one screen at a time", ()),
            ({**HELD, "asked_by": "pts/4"}, "pts/4 has the controls now", (GiveControls(),)),
            (HELD, "this screen has the controls; no other one asks for them", ()),
        )
    },
    "Q on an attached screen": (Attached, [("Q escape", did(), CLOSED), ("Q", on(Confirm))]),
    "Q on the run's own screen": (partial(Under, wanted=10), [("Q", on(Quit))]),
    "D of a run that ends with its screen": (
        partial(Under, wanted=10),
        [("D", says("[guards] unattended_s is 0: the run ends with its screen"))],
    ),
    "Q on a screen that only watches": (
        Watching,
        [("Q", says("this screen only watches: it cannot end the run"))],
    ),
}  # fmt: skip


def options_of_latency(stage: Stage) -> tuple[float | None, bool, bool]:
    options = stage.app.explorer.query_one("#latency", Pane).options
    return options.window_s, options.log_latency, options.large


def scrolled(stage: Stage) -> int:
    """Lines that the journal has scrolled from its end."""
    return int(getattr(stage.app.explorer.arrangement.panes[5], "scrolled"))  # noqa: B009 - a pane of another kind has none


@pytest.mark.parametrize(("stage", "steps"), STORIES.values(), ids=STORIES)
async def test_keys_do_and_show(stage: Callable[[], Stage], steps: list[Step]) -> None:
    assert await tell(stage(), *steps) is None


# -- endings

USER, DETACH = Ending("user"), Ending("detach")
ENDINGS: dict[str, tuple[Callable[[], Stage], list[Step], Ending | None, list[Control]]] = {
    **{
        f"{key} {yes} under load": (Stage, [(key, on(Quit)), (yes,)], USER, [EndRun()])
        for key, yes in (("q", "enter"), ("q", "y"), ("q", "q"), ("ctrl+c", "ctrl+c"), ("ctrl+q", "y"), ("Q", "q"))
    },
    **{f"q {no}": (Stage, [(f"q {no} +",)], None, [USERS[2]]) for no in ("escape", "n")},
    "q without load": (partial(Stage, wanted=0), [("q",)], USER, [EndRun()]),
    "q while the last users end": (partial(Stage, session([(20, 10)]), wanted=0), [("q",)], USER, [EndRun()]),
    "q after the end": (partial(Stage, [*session(), Ended(t_s=70.0, reason="")], wanted=80), [("q",)], USER, [EndRun()]),
    "q of a screen that only watches": (Watching, [("q",)], USER, []),
    "q from a pane": (partial(Under, wanted=0), [("O q",)], USER, [EndRun()]),
    "ctrl+c from a pane": (partial(Under, wanted=0), [("O ctrl+c",)], USER, [EndRun()]),
    "q from a pane, under load": (partial(Under, wanted=10), [("O q", on(Quit))], None, []),
    "D of a run that goes on": (partial(Under, wanted=10, unattended_s=300.0), [("D",)], DETACH, []),
    "D of an attached screen": (Attached, [("D",)], DETACH, []),
    "D of a screen that only watches": (Watching, [("D",)], DETACH, []),
    "Q of an attached screen": (Attached, [("Q", on(Confirm)), ("enter",)], USER, [EndRun()]),
    "q of an attached screen": (Attached, [("q", on(Quit)), ("q",)], USER, []),
    "q without the controls": (partial(Attached, holds=False), [("q",)], USER, []),
    "a signal": (Stage, [(lambda stage: stage.app.request_exit("SIGTERM"),)], Ending("signal", "SIGTERM"), []),
}


@pytest.mark.parametrize(("stage", "steps", "ending", "calls"), ENDINGS.values(), ids=ENDINGS)
async def test_the_screen_ends(
    stage: Callable[[], Stage], steps: list[Step], ending: Ending | None, calls: list[Control]
) -> None:
    screen = stage()
    assert await tell(screen, *steps) == ending
    assert screen.controls.calls == calls
    if isinstance(screen.app.actions, AttachedRunActions):
        assert screen.app.actions.ends_run == bool(calls)


async def test_a_signal_before_the_first_paint_ends_the_app() -> None:
    stage = Stage()
    stage.app.request_exit("SIGINT")
    assert await tell(stage) == Ending("signal", "SIGINT")


@pytest.mark.parametrize(
    ("stage", "question"),
    [
        (partial(Under, wanted=1), "The load of 1 user will stop."),
        (partial(Under, wanted=2_000), "The load of 2,000 users will stop."),
        (partial(Under, load=Rate(1.0)), "The load of 1 iteration a second will stop."),
        (partial(Stage, session(), wanted=10, **AWAY), "pts/3 has the controls. The load of 10 users will stop."),
        (Attached, "The run goes on. Load by hand that no screen steers ends after 5 min"),
        (partial(Attached, holds=False), None),
    ],
)
async def test_the_question_before_quitting_says_what_ends(stage: Callable[[], Stage], question: str | None) -> None:
    screen = stage()
    async with screen.run():
        asked = screen.app.actions.quit_question
        assert asked is None if question is None else asked is not None and asked.startswith(question)


# -- who has the controls

HERE, NOBODY = State(holder="pts/0", screens=2), State(holds=False, screens=2)
LOST = State(holds=False, holder="pts/3", connected=False)


@pytest.mark.parametrize(
    ("line", "state", "words"),
    [
        (watching.controls_line, State(), ""),
        (watching.controls_line, State(holder="pts/0"), ""),
        (watching.controls_line, HERE, "this screen has the controls; 2 screens"),
        (watching.controls_line, replace(HERE, asked_by="x"), "x asks for the controls: c gives them, steering keeps them"),
        (watching.controls_line, ELSEWHERE, "pts/3 has the controls; c asks for them"),
        (watching.controls_line, replace(ELSEWHERE, asked_by="x"), "pts/3 has the controls; x asks for them"),
        (watching.controls_line, NOBODY, "no screen has the controls; c takes them"),
        (watching.controls_line, LOST, "the run cannot be reached; what is recorded is still shown"),
        (watching.who_steers, ELSEWHERE, "pts/3 has the controls; this screen only watches"),
        (watching.who_steers, replace(NOBODY, screens=1), "no screen has the controls; this screen only watches"),
        (watching.who_steers, LOST, "the run cannot be reached; what is recorded is still shown"),
    ],
)
def test_the_status_says_who_has_the_controls(line: Callable[[State], str], state: State, words: str) -> None:
    assert line(state) == words
    banners = controls(View(load=Users(1), controls=words), Palette(), 80)
    assert [banner.text for banner in banners] == ([f" CONTROLS  {words}".ljust(80)] if words else [])


@pytest.mark.parametrize(
    ("has_controls", "proposal", "line"),
    [
        (True, STEP_TO_94, " NEXT  Enter: 94 users for 8–20 s; still scaling linearly (97%)"),
        (False, STEP_TO_94, " NEXT  94 users for 8–20 s; still scaling linearly (97%)"),
        (False, AddWorker(), " NEXT  add a worker process; the generator is saturated"),
        (False, Done("knee"), " NEXT  e: export; knee"),
    ],
)
def test_a_screen_without_the_controls_names_no_key_that_has_no_effect(has_controls: bool, proposal: Proposal, line: str) -> None:
    timeline = Timeline([*session(), Proposed(t_s=60.0, proposal=proposal)])
    view = View(load=Users(80), max_users=2000, has_controls=has_controls)
    assert [strip.text.rstrip() for strip in next_step(timeline, view, Palette(), 120)] == [line]


# -- dialogs

SPAWN_RATE = "expected users a second, 0.001 to 100,000 (for example 10 or 0.5), or nothing for automatic"
RATE = "expected iterations a second, 0.01 to 100,000 (for example 200 or 0.5), or 0"
ANSWERS = {
    spawn_rate_error: (["", "10", "0.5", "0.001", "100000"], ["0", "-1", "0.0001", "100001", "inf", "nan", "fast"], SPAWN_RATE),
    offered_rate_error: (["60", "60/s", "0.5 /s", "0"], ["", "/s", "60/m", "fast/s", "-1/s", "nan/s"], RATE),
}
"""By the check of an answer: those that it accepts, those that it refuses, and with which sentence."""


@pytest.mark.parametrize(("error", "answers"), ANSWERS.items())
def test_a_typed_answer_is_accepted_or_refused_with_one_sentence(
    error: Callable[[str], str | None], answers: tuple[list[str], list[str], str]
) -> None:
    accepted, refused, sentence = answers
    assert [answer for answer in accepted if error(answer) is not None] == []
    assert {error(answer) for answer in refused} == {sentence}
    assert (load_of("60"), load_of("60/s"), load_of("0.5 /s")) == (60.0, 60.0, 0.5)
    assert users_error("60/s", 100) == "expected users, not a rate; Esc, then u changes the unit to an offered rate"


BAD_INPUT = [
    ("g", "abc", "expected a whole number, 0 to 2,000"),
    ("g", "", "expected a whole number, 0 to 2,000"),
    ("g", "2001", "the limit is 2,000 users"),
    ("r", "-1", "expected users a second"),
    ("r", "nan", "expected users a second"),
    ("n", "", "the note is empty"),
]


async def test_bad_input_keeps_the_dialog_open_with_the_expected_form() -> None:
    steps: list[Step] = []
    for key, text, expected in BAD_INPUT:
        steps += [(key, on(Ask)), typing(text), ("enter", shows(expected), on(Ask)), ("escape", CLOSED, did())]
    await tell(Stage(), *steps)


async def test_the_target_restarts_with_the_changed_parameters() -> None:
    stage = Stage([header()])

    def fill(**values: str) -> None:
        fields = {field.name: field for field in stage.app.screen.query(Input)}
        for name, value in values.items():
            fields[name].value = value

    await tell(
        stage,
        ("t", shows("Restart mixed")),
        (lambda stage: fill(threads="many"),),
        ("enter", on(TargetForm), shows("expected a whole number, got many")),
        (lambda stage: fill(threads="16", server=""),),
        ("enter", did(RestartTarget({"threads": "16"}))),
    )


DIALOGS = "g p r n t e q question_mark ctrl+p".split()


async def test_no_dialog_opens_over_another() -> None:
    def depth(*screens: int) -> Callable[[Stage], bool]:
        return lambda stage: len(stage.app.screen_stack) in screens

    steps: list[Step] = []
    for first in DIALOGS:
        steps.append((first, depth(2)))
        steps += [(second, depth(1, 2)) for second in (*DIALOGS[:6], "question_mark", "ctrl+p", "ctrl+c")]
        steps += [("", depth(2)), ("escape", depth(1))]
    await tell(Stage([header()]), *steps)


async def test_the_palette_does_what_keys_do() -> None:
    def found(stage: Stage) -> bool:
        commands = stage.app.screen.query_one(OptionList)
        return commands.option_count == 1 and commands.highlighted == 0

    await tell(
        Stage(),
        ("ctrl+p", lambda stage: len(stage.app.screen_stack) == 2),
        ("'zero space 'at space 'once", found),
        ("enter", did(Zero())),
    )


async def test_help_lists_every_key_and_closes() -> None:
    def listed(stage: Stage) -> bool:
        inside = [line[15:104] for line in stage.screen_text().splitlines()]  # without the panes beside the dialog
        shown = " ".join(" ".join(inside).split())
        return all(text in shown for text in ("settling", "Grey figure", *(part for row in rows("live") for part in row)))

    await tell(Stage(), ("?", on(Help), listed), ("escape +", did(USERS[2])), size=(120, 190))


# -- any size, any text


async def test_the_size_of_the_terminal_decides_how_many_panes_are_shown() -> None:
    stage = Stage(session())
    async with stage.run(WIDE) as pilot:
        for size, count in ((WIDE, 6), (NARROW, 4), (HUGE, 8), ((60, 20), 1)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda count=count: stage.shown() == [name for name, _ in PANES[:count]], size)  # type: ignore[misc]


async def test_a_maximised_grid_is_left_after_the_failures() -> None:
    await tell(
        Stage(session()),
        ("z f escape", panes("throughput")),
        ("escape", panes(*ALL_SIX)),
        ("escape", says("nothing to leave; q quits, ? shows the keys")),
        size=WIDE,
    )


@pytest.mark.parametrize("size", [HUGE, (SMALL[0] - 1, SMALL[1])])
async def test_with_all_panes_shown_escape_says_how_to_quit(size: tuple[int, int]) -> None:
    await tell(Stage(session()), ("escape", says("nothing to leave; q quits, ? shows the keys")), size=size)


async def test_a_paused_display_keeps_its_panes_while_events_are_folded() -> None:
    maker = SessionMaker()
    stage = Stage([header(), *maker.open(10), *(maker.tick() for _ in range(8))], wanted=10)
    async with stage.run() as pilot:
        await pilot.press("5", "space")
        await pilot.pause()
        before = stage.screen_text().splitlines()[3:]
        assert "PAUSED" in stage.screen_text()
        stage.source.send(*(maker.tick() for _ in range(5)))
        await pilot.pause()
        assert stage.screen_text().splitlines()[3:] == before
        assert len(stage.app.feed.timeline) == 13
        await pilot.press("space")
        await pilot.pause()
        assert stage.screen_text().splitlines()[3:] != before
        assert "PAUSED" not in stage.screen_text()


async def test_every_theme_can_be_drawn() -> None:
    stage = Stage(session())
    async with stage.run(WIDE) as pilot:
        for name in list(stage.app.available_themes):
            stage.app.theme = name
            await pilot.pause()
            assert "users 80" in stage.screen_text()


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_hostile_text_is_shown_as_text(size: tuple[int, int]) -> None:
    harmless = hides(*(character for character in ("\x1b", "\x9b", "\x07", "\u202e") if character in HOSTILE_TEXT))
    await tell(Stage([*session(), died(70.0)]), *((f"{key} z", harmless) for key in "1234567d8"), size=size)


@pytest.mark.parametrize("size", [(60, 15), (200, 60)])
async def test_nothing_is_raised_for_an_empty_timeline(size: tuple[int, int]) -> None:
    await tell(Stage(), (f"{' '.join('12345678')} f d z w l space space o ?",), size=size)

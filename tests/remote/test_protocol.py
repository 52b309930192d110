"""The protocol between a run and the screens of other processes: messages are encoded and decoded, invalid bytes are refused."""

from __future__ import annotations

import io
import random
import re
from itertools import cycle
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import encode as pack

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
    SampleStacks,
    SetAutopilot,
    SetSpawnRate,
    SetStep,
    Setup,
    StartPlan,
    State,
    StepTo,
    TryExperiment,
    VerifyKnee,
    WatchPart,
    Zero,
)
from capexplorer.model.experiments import Experiment
from capexplorer.model.kept_request import Body, KeptRequest, RequestBrief
from capexplorer.model.load import Rate, Users
from capexplorer.remote.protocol import (
    FROM_SCREEN_MOST_BYTES,
    PROTOCOL,
    Answer,
    AskRequest,
    AskRequests,
    Do,
    Frames,
    FromRun,
    FromScreen,
    Hello,
    KeptBriefs,
    KeptWhole,
    Over,
    ProtocolError,
    Refused,
    Update,
    Welcome,
    encode,
    frame,
    from_run,
    from_screen,
)

BRIEF = RequestBrief(number=3, why="first", method="GET", name="/a", status=503, error="503: busy")

CONTROLS: list[Control] = [
    StepTo(Users(40)),
    StepTo(Rate(0.5)),
    Zero(),
    NewLevel(),
    SetStep(10),
    SetSpawnRate(2.5),
    SetSpawnRate(None),
    SetAutopilot(on=True),
    SetAutopilot(on=True, finds_rate=True),
    TryExperiment(20, Experiment(name="alone", endpoint="GET /a")),
    VerifyKnee(),
    StartPlan("10:30s"),
    SampleStacks(),
    ChangeWorkers(add=True),
    WatchPart("db=ssh db1:port 5432"),
    Require("p95 <= 300ms @ 50 users"),
    AddNote("slower \N{SNOWMAN} now"),
    RestartTarget({"threads": "8"}),
    EndRun(),
    AskControls(),
    GiveControls(),
]
MESSAGES_OF_SCREENS: list[FromScreen] = [
    Hello(protocol=PROTOCOL, role="steer", name="pts/3"),
    *(Do(number=number, control=control) for number, control in enumerate(CONTROLS, 1)),
    AskRequests(number=17),
    AskRequest(number=18, request=3),
]
MESSAGES_OF_RUNS: list[FromRun] = [
    Welcome(
        protocol=PROTOCOL, session="s", path="/x/s.jsonl", pid=7,
        setup=Setup(max_users=9, can_restart=True, plans={"short": "1:3s"}, unattended_s=300.0),
    ),
    Refused(why="another version"),
    Answer(number=7, wrong="plan: expected USERS:DURATION"),
    Update(
        seen=3,
        state=State(load=Users(5), workers=2, target_params={"threads": 8, "keep_alive": True}, holder="pts/3", screens=2),
    ),
    KeptBriefs(number=17, briefs=(BRIEF,)),
    KeptWhole(number=18, request=KeptRequest(brief=BRIEF, sent_headers=(("Accept", "*/*"),), received=Body(text="busy"))),
    KeptWhole(number=19, request=None),
    Over(),
]  # fmt: skip


def test_every_control_is_among_the_messages_that_are_tried_here() -> None:
    assert {type(each) for each in CONTROLS} == set(get_args(Control))


def test_each_message_is_decoded_as_it_was_encoded() -> None:
    assert [from_screen(encode(message)) for message in MESSAGES_OF_SCREENS] == MESSAGES_OF_SCREENS
    assert [from_run(encode(message)) for message in MESSAGES_OF_RUNS] == MESSAGES_OF_RUNS


@given(st.lists(st.integers(1, 40), min_size=1))
def test_messages_are_decoded_from_any_split_of_the_bytes(sizes: list[int]) -> None:
    stream = io.BytesIO(b"".join(frame(encode(each)) for each in MESSAGES_OF_SCREENS))
    frames, messages = Frames(FROM_SCREEN_MOST_BYTES), []
    for size in cycle(sizes):
        piece = stream.read(size)
        if not piece:
            break
        messages += frames.feed(piece)
    assert [from_screen(each) for each in messages] == MESSAGES_OF_SCREENS


def test_a_message_longer_than_the_maximum_is_refused_by_its_length_alone() -> None:
    with pytest.raises(ProtocolError, match=r"a message of 65,537 bytes; at most 65,536 are taken"):
        Frames(FROM_SCREEN_MOST_BYTES).feed((FROM_SCREEN_MOST_BYTES + 1).to_bytes(4, "big"))


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_are_refused_within_the_first_64_kib(seed: int) -> None:
    random_bytes = random.Random(seed).randbytes(65_536)
    with pytest.raises(ProtocolError):
        for message in Frames(FROM_SCREEN_MOST_BYTES).feed(random_bytes):
            from_screen(message)


def do(kind: str, **control: object) -> bytes:
    """The message of a screen with a control of this kind and these keys."""
    return pack({"type": "do", "number": 1, "control": {"type": kind, **control}})


@pytest.mark.parametrize(
    ("message", "why"),
    [
        pytest.param(b"", "Input data was truncated", id="no bytes"),
        pytest.param(b"\x00", "Expected `object`", id="a number instead of a map"),
        pytest.param(do("step_to", load={"type": "users", "users": -1}), ">= 0", id="negative users"),
        pytest.param(do("step_to", load={"type": "users", "users": "many"}), "Expected `int`", id="text instead of a number"),
        pytest.param(do("step_to"), "missing required field `load`", id="a missing key"),
        pytest.param(do("zero", more=1), "unknown field `more`", id="an unknown key"),
        pytest.param(do("format the disk"), "Invalid value 'format the disk'", id="an unknown control"),
        pytest.param(do("note", text="x" * 10_001), "length <= 10000", id="a note that is too long"),
        pytest.param(do("restart", params={str(number): "" for number in range(101)}), "length <= 100", id="too many parameters"),
        pytest.param(pack({"type": "format the disk", "number": 1}), "Invalid value", id="an unknown type"),
        pytest.param(pack({"type": "hello", "protocol": 1, "role": "root", "name": ""}), "Invalid enum", id="an unknown role"),
        pytest.param(b"\x91" * 60_000, "Expected `object`", id="60,000 nested arrays"),
        pytest.param(encode(Do(number=1, control=StepTo(Users(1)))) + b"\x00", "trailing", id="a byte after the message"),
    ],
)
def test_bytes_that_are_not_a_valid_message_are_refused(message: bytes, why: str) -> None:
    with pytest.raises(ProtocolError, match=f"not a message of protocol .*{re.escape(why)}"):
        from_screen(message)

"""The protocol between a run and the screens of other processes: messages are encoded and decoded, invalid bytes are refused."""

from __future__ import annotations

import io
import random
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import decode as unpack
from msgspec.msgpack import encode as pack

from capexplorer.model.kept_request import Body, KeptRequest, RequestBrief
from capexplorer.remote.frames import FROM_SCREEN_MOST_BYTES, Frames, frame
from capexplorer.remote.protocol import (
    PROTOCOL,
    AddNote,
    Answer,
    AskControls,
    AskRequest,
    AskRequests,
    ChangeWorkers,
    FromRun,
    FromScreen,
    GiveControls,
    Hello,
    KeptBriefs,
    KeptWhole,
    NewLevel,
    Over,
    ProtocolError,
    Refused,
    RestartTarget,
    SetAutopilot,
    SetSpawnRate,
    SetStep,
    StartPlan,
    State,
    StepTo,
    StepToRate,
    Stop,
    VerifyKnee,
    WatchPart,
    Welcome,
    Zero,
    encode,
    from_run,
    from_screen,
)

BRIEF = RequestBrief(number=3, why="first", method="GET", name="/a", status=503, error="503: busy")

MESSAGES_OF_SCREENS: list[FromScreen] = [
    Hello(protocol=PROTOCOL, role="steer", name="pts/3"),
    StepTo(number=1, users=40),
    StepToRate(number=2, per_s=0.5),
    SetStep(number=2, step=10),
    SetSpawnRate(number=3, rate=2.5),
    SetSpawnRate(number=4, rate=None),
    SetAutopilot(number=5, on=True),
    SetAutopilot(number=5, on=True, finds_rate=True),
    VerifyKnee(number=6),
    StartPlan(number=7, plan="10:30s"),
    NewLevel(number=8),
    Zero(number=9),
    AddNote(number=10, text="slower \N{SNOWMAN} now"),
    RestartTarget(number=11, params={"threads": "8"}),
    AskControls(number=12),
    GiveControls(number=13),
    Stop(number=14),
    ChangeWorkers(number=15, add=True),
    WatchPart(number=16, part="db=ssh db1:port 5432"),
    AskRequests(number=17),
    AskRequest(number=18, request=3),
]
MESSAGES_OF_RUNS: list[FromRun] = [
    Welcome(
        protocol=PROTOCOL, session="s", path="/x/s.jsonl", pid=7, max_users=9, can_restart=True, plans={"short": "1:3s"},
        unattended_s=300.0,
    ),
    Refused(why="another version"),
    Answer(number=7, wrong="plan: expected USERS:DURATION"),
    State(
        seen=3, wanted=5, offered_per_s=None, spawn_rate=None, workers=2, autopilot=False,
        target_params={"threads": 8, "keep_alive": True},
        holds=True, holder="pts/3", asked_by=None, screens=2,
    ),
    KeptBriefs(number=17, briefs=(BRIEF,)),
    KeptWhole(number=18, request=KeptRequest(brief=BRIEF, sent_headers=(("Accept", "*/*"),), received=Body(text="busy"))),
    KeptWhole(number=19, request=None),
    Over(),
]  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES_OF_SCREENS, ids=lambda each: type(each).__name__)
def test_a_message_of_a_screen_is_decoded_as_it_was_encoded(message: FromScreen) -> None:
    assert from_screen(encode(message)) == message


def test_the_autopilot_message_keeps_the_key_that_earlier_versions_read() -> None:
    assert unpack(encode(SetAutopilot(number=5, on=True, finds_rate=True)))["at_rate"] is True


@pytest.mark.parametrize("message", MESSAGES_OF_RUNS, ids=lambda each: type(each).__name__)
def test_a_message_of_a_run_is_decoded_as_it_was_encoded(message: FromRun) -> None:
    assert from_run(encode(message)) == message


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


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(b"", id="no bytes"),
        pytest.param(b"\x00", id="a number instead of a map"),
        pytest.param(pack({"type": "users", "number": 1, "users": -1}), id="negative users"),
        pytest.param(pack({"type": "users", "number": 1, "users": "many"}), id="text instead of a number"),
        pytest.param(pack({"type": "users", "number": 1}), id="a missing key"),
        pytest.param(pack({"type": "users", "number": 1, "users": 1, "more": 1}), id="an unknown key"),
        pytest.param(pack({"type": "format the disk", "number": 1}), id="an unknown type"),
        pytest.param(pack({"type": "note", "number": 1, "text": "x" * 10_001}), id="a note that is too long"),
        pytest.param(pack({"type": "hello", "protocol": 1, "role": "root", "name": ""}), id="an unknown role"),
        pytest.param(b"\x91" * 60_000, id="60,000 nested arrays"),
        pytest.param(encode(StepTo(number=1, users=1)) + b"\x00", id="a byte after the message"),
    ],
)
def test_bytes_that_are_not_a_valid_message_are_refused(message: bytes) -> None:
    with pytest.raises(ProtocolError, match="not a message of protocol 3: "):
        from_screen(message)

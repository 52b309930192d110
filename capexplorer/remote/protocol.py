"""The messages between a screen and a run on the run's socket: msgspec structs as MessagePack, each after its length.

The screen sends the first one, `Hello`; the run answers `Welcome` and then a `State` at each change, or `Refused` and
closes. Events of the run are not sent: a screen reads the session's log. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ..model.kept_request import KeptRequest, RequestBrief
from ..model.param import Param

PROTOCOL = 3
"""Incremented when the meaning of a message changes; a run and a screen of different protocols refuse each other."""

NAME_MOST = 64
_TEXT_MOST = 10_000
"""Characters of a note, a parameter's value, or a plan, whose own bound this is."""
_PARAMS_MOST = 100

Text = Annotated[str, Meta(max_length=_TEXT_MOST)]
Name = Annotated[str, Meta(max_length=NAME_MOST)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]

Role = Literal["steer", "watch", "stop"]
"""A screen that may have the controls, one that only watches, and the command that ends the run."""


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    """Base of all messages."""


# -- from a screen


class Hello(Message, frozen=True, kw_only=True, tag="hello"):
    """The first message of each connection."""

    protocol: int
    role: Role
    name: Name
    """Name of the screen, shown to users: its terminal."""


class Call(Message, frozen=True, kw_only=True):
    """One call of the controls. A screen numbers its calls from 1."""

    number: Count


class StepTo(Call, frozen=True, kw_only=True, tag="users"):
    """`Controls.set_users`."""

    users: Count


class StepToRate(Call, frozen=True, kw_only=True, tag="rate"):
    """`Controls.set_rate`."""

    per_s: Annotated[float, Meta(ge=0, le=1e9)]


class SetStep(Call, frozen=True, kw_only=True, tag="step"):
    """`Controls.set_step`."""

    step: Count


class SetSpawnRate(Call, frozen=True, kw_only=True, tag="spawn_rate"):
    """`Controls.set_spawn_rate`."""

    rate: float | None


class ChangeWorkers(Call, frozen=True, kw_only=True, tag="workers"):
    """`Controls.change_workers`."""

    add: bool


class WatchPart(Call, frozen=True, kw_only=True, tag="watch_part"):
    """`Controls.watch_part`."""

    part: Text


class SetAutopilot(Call, frozen=True, kw_only=True, tag="autopilot"):
    """`Controls.set_autopilot`."""

    on: bool
    finds_rate: bool = msgspec.field(default=False, name="at_rate")  # the name in messages of earlier versions


class VerifyKnee(Call, frozen=True, kw_only=True, tag="verify"):
    """`Controls.verify_knee`."""


class StartPlan(Call, frozen=True, kw_only=True, tag="plan"):
    """`Controls.start_plan`."""

    plan: Text


class NewLevel(Call, frozen=True, kw_only=True, tag="new_level"):
    """`Controls.new_level`."""


class Zero(Call, frozen=True, kw_only=True, tag="zero"):
    """`Controls.zero`."""


class AddNote(Call, frozen=True, kw_only=True, tag="note"):
    """`Controls.note`."""

    text: Text


class RestartTarget(Call, frozen=True, kw_only=True, tag="restart"):
    """`Controls.restart_target`."""

    params: Annotated[dict[Text, Text], Meta(max_length=_PARAMS_MOST)]


class AskControls(Call, frozen=True, kw_only=True, tag="ask"):
    """`ControlsLock.ask`."""


class GiveControls(Call, frozen=True, kw_only=True, tag="give"):
    """`ControlsLock.give`."""


class AskRequests(Call, frozen=True, kw_only=True, tag="ask_requests"):
    """`KeptRequests.briefs`. Any screen may ask."""


class AskRequest(Call, frozen=True, kw_only=True, tag="ask_request"):
    """`KeptRequests.request`."""

    request: Count


class Stop(Call, frozen=True, kw_only=True, tag="stop"):
    """End the run and save its session."""


ControlsCall = (
    StepTo
    | StepToRate
    | SetStep
    | SetSpawnRate
    | ChangeWorkers
    | WatchPart
    | SetAutopilot
    | VerifyKnee
    | StartPlan
    | NewLevel
    | Zero
    | AddNote
    | RestartTarget
)  # fmt: skip
FromScreen = Hello | ControlsCall | AskControls | GiveControls | AskRequests | AskRequest | Stop


# -- from a run


class Welcome(Message, frozen=True, kw_only=True, tag="welcome"):
    """The answer to a `Hello`: what does not change during this run."""

    protocol: int
    session: str
    path: str
    """Absolute path of the session's log."""
    pid: int
    max_users: int
    can_restart: bool
    plans: dict[str, str]
    unattended_s: float


class Refused(Message, frozen=True, kw_only=True, tag="refused"):
    """The run does not accept this screen, and closes the connection."""

    why: str


class Answer(Message, frozen=True, kw_only=True, tag="answer"):
    """The answer to a `RestartTarget`, a `StartPlan`, a `ChangeWorkers` or a `WatchPart`."""

    number: int
    wrong: str | None
    """Why the call was refused, in one line; None: it is carried out."""


class KeptBriefs(Message, frozen=True, kw_only=True, tag="requests"):
    """The answer to an `AskRequests`: all kept requests without headers and bodies. At most 400, each below 2 KB."""

    number: int
    briefs: tuple[RequestBrief, ...]


class KeptWhole(Message, frozen=True, kw_only=True, tag="request"):
    """The answer to an `AskRequest`: one kept request with headers and bodies, below 50 KB. None: it is not kept any more."""

    number: int
    request: KeptRequest | None


class State(Message, frozen=True, kw_only=True, tag="state"):
    """What a screen shows that is not in the log; sent when it has changed."""

    seen: int
    """Number of this screen's last call that was carried out or refused."""
    wanted: int
    offered_per_s: float | None
    spawn_rate: float | None
    workers: int
    autopilot: bool
    target_params: Mapping[str, Param]
    holds: bool
    holder: str | None
    asked_by: str | None
    screens: int


class Over(Message, frozen=True, kw_only=True, tag="over"):
    """The run has ended and its log is complete."""


FromRun = Welcome | Refused | Answer | KeptBriefs | KeptWhole | State | Over

_encoder = msgspec.msgpack.Encoder()
_from_screen: msgspec.msgpack.Decoder[FromScreen] = msgspec.msgpack.Decoder(FromScreen)
_from_run: msgspec.msgpack.Decoder[FromRun] = msgspec.msgpack.Decoder(FromRun)


class ProtocolError(Exception):
    """The received bytes are not a message of this protocol."""


def encode(message: Message) -> bytes:
    """A message as bytes, without its length."""
    return _encoder.encode(message)


def from_screen(data: bytes) -> FromScreen:
    """A screen's message. Raises ProtocolError."""
    try:
        return _from_screen.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"not a message of protocol {PROTOCOL}: {error}") from None


def from_run(data: bytes) -> FromRun:
    """A run's message. Raises ProtocolError."""
    try:
        return _from_run.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"not a message of protocol {PROTOCOL}: {error}") from None

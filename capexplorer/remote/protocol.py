"""The messages between a screen and a run on the run's socket: msgspec structs as MessagePack, each after its length.

The screen sends the first one, `Hello`; the run answers `Welcome` and then an `Update` at each change, or `Refused` and
closes. Events of the run are not sent: a screen reads the session's log. Pure.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from ..model.controls import Control, Count, Setup, State
from ..model.kept_request import KeptRequest, RequestBrief

T = TypeVar("T")

PROTOCOL = 5
"""Incremented when the meaning of a message changes; a run and a screen of different protocols refuse each other."""

Name = Annotated[str, Meta(max_length=64)]

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
    """Base of what a screen sends after that. It numbers its calls from 1."""

    number: Count


class Do(Call, frozen=True, kw_only=True, tag="do"):
    """Do what a person asks for."""

    control: Control


class AskRequests(Call, frozen=True, kw_only=True, tag="ask_requests"):
    """`KeptRequests.briefs`. Any screen may ask."""


class AskRequest(Call, frozen=True, kw_only=True, tag="ask_request"):
    """`KeptRequests.request`."""

    request: Count


FromScreen = Hello | Do | AskRequests | AskRequest


# -- from a run


class Welcome(Message, frozen=True, kw_only=True, tag="welcome"):
    """The answer to a `Hello`: what does not change during this run."""

    protocol: int
    session: str
    path: str
    """Absolute path of the session's log."""
    pid: int
    setup: Setup


class Refused(Message, frozen=True, kw_only=True, tag="refused"):
    """The run does not accept this screen, and closes the connection."""

    why: str


class Answer(Message, frozen=True, kw_only=True, tag="answer"):
    """The answer to a `Do` that was refused, or whose control `is_answered`."""

    number: int
    wrong: str | None
    """Why it was refused, in one line; None: it is done."""


class KeptBriefs(Message, frozen=True, kw_only=True, tag="requests"):
    """The answer to an `AskRequests`: all kept requests without headers and bodies. At most 400, each below 2 KB."""

    number: int
    briefs: tuple[RequestBrief, ...]


class KeptWhole(Message, frozen=True, kw_only=True, tag="request"):
    """The answer to an `AskRequest`: one kept request with headers and bodies, below 50 KB. None: it is not kept any more."""

    number: int
    request: KeptRequest | None


class Update(Message, frozen=True, kw_only=True, tag="update"):
    """What a screen shows that is not in the log; sent when it has changed."""

    seen: int
    """Number of this screen's last call that was done or refused."""
    state: State


class Over(Message, frozen=True, kw_only=True, tag="over"):
    """The run has ended and its log is complete."""


FromRun = Welcome | Refused | Answer | KeptBriefs | KeptWhole | Update | Over

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
    return _decoded(_from_screen, data)


def from_run(data: bytes) -> FromRun:
    """A run's message. Raises ProtocolError."""
    return _decoded(_from_run, data)


def _decoded(decoder: msgspec.msgpack.Decoder[T], data: bytes) -> T:
    try:
        return decoder.decode(data)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise ProtocolError(f"not a message of protocol {PROTOCOL}: {error}") from None


# -- in a stream of bytes: four bytes of length, the most significant first, then the message


LENGTH_BYTES = 4
FROM_SCREEN_MOST_BYTES = 64 * 1024
"""Enough for the longest message of a screen, a plan of 10,000 characters."""
FROM_RUN_MOST_BYTES = 1024 * 1024
"""Enough for the longest message of a run, which has the profile's plans: 256 KiB at most."""


def frame(message: bytes) -> bytes:
    """A message with its length."""
    return len(message).to_bytes(LENGTH_BYTES, "big") + message


class Frames:
    """Splits a stream of bytes into messages. Keeps less than one message, of at most `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete with these bytes. Raises ProtocolError for a length above `most_bytes`."""
        self._buffer += data
        found = []
        while (end := self._end()) is not None and len(self._buffer) >= end:
            found.append(bytes(self._buffer[LENGTH_BYTES:end]))
            del self._buffer[:end]
        return found

    def _end(self) -> int | None:
        """Offset of the end of the first message in the buffer; None if its length has not arrived."""
        if len(self._buffer) < LENGTH_BYTES:
            return None
        length = int.from_bytes(self._buffer[:LENGTH_BYTES], "big")
        if length > self._most_bytes:
            raise ProtocolError(f"a message of {length:,} bytes; at most {self._most_bytes:,} are taken")
        return LENGTH_BYTES + length

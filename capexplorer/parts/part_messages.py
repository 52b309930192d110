"""The messages between the app and the process that reads all parts: one line of JSON each."""

from __future__ import annotations

from typing import Any

import msgspec

from ..model.events import PartState
from ..model.readings import PartReading
from ..model.watched import PartSpec


class PartMessage(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of all messages."""


class Add(PartMessage, frozen=True, tag="add"):
    """To the parts process: watch this part, too."""

    watch: PartSpec


class Poll(PartMessage, frozen=True, tag="poll"):
    """To the parts process: read all parts now."""


class Read(PartMessage, frozen=True, tag="read"):
    """To the app: a part was read at `at_s`, by `time.monotonic`, which is the same in both processes."""

    reading: PartReading
    at_s: float
    refused: tuple[str, ...] = ()
    """Names of its numbers that are not finite or too large, which the reading lacks."""


class Noticed(PartMessage, frozen=True, tag="noticed"):
    """To the app: a part was found, changed, or cannot be read. The app adds the time."""

    part: PartState


_from_app = msgspec.json.Decoder(Add | Poll)
_to_app = msgspec.json.Decoder(Read | Noticed)


def line(message: PartMessage) -> bytes:
    """A message as a line, with its newline."""
    return msgspec.json.encode(message) + b"\n"


def request_of(text: bytes) -> Add | Poll:
    """A message of the app. Raises ValueError for any other line."""
    found: Any = _from_app.decode(text)
    return found  # type: ignore[no-any-return]


def reported(text: bytes) -> Read | Noticed:
    """A message of the parts process. Raises ValueError for any other line."""
    found: Any = _to_app.decode(text)
    return found  # type: ignore[no-any-return]

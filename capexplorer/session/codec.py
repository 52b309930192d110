"""Encodes an event as one line of the log, and decodes it: compact JSON, `type` first.

Must not know files, line numbers or secrets: `canonical` prepares events, and the reader adds line numbers to errors.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..model.events import Event, KnownEvent, Unknown
from . import seal
from .validity import LineError, check_values

Line = dict[str, Any]
"""A line's fields as plain values."""

_TYPES = {kind.__struct_config__.tag: kind for kind in KnownEvent.__args__}
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(KnownEvent)
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def encode(event: Event) -> bytes:
    """The line of an event, without its line end. For an `Unknown` it is the line that it was read from."""
    if isinstance(event, Unknown):
        return _encoder.encode({"type": event.original_type, "t_s": event.t_s, **event.fields})
    return _encoder.encode(event)


def decode(line: bytes) -> Event:
    """The event in `line`: unknown fields are ignored, an unknown type gives an `Unknown`. Raises LineError."""
    try:
        event: Event = _decoder.decode(line)
    except (msgspec.ValidationError, *_NOT_JSON):
        return from_plain(decode_plain(line))  # an event of an unknown type, or an error that names what is wrong
    check_values(event)
    return event


def decode_plain(line: bytes) -> Line:
    """The fields in `line`, of any type and schema. Raises LineError."""
    try:
        fields = msgspec.json.decode(line)
    except _NOT_JSON as error:
        raise LineError(f"not valid JSON: {_lower(error)}") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("type"), str):
        raise LineError("not an event: a JSON object with a `type` was expected")
    return fields


def from_plain(fields: Line) -> Event:
    """The event that `fields` describe. Raises LineError."""
    kind: type[Event] = _TYPES.get(fields["type"], Unknown)
    try:
        event = msgspec.convert(_as_unknown(fields) if kind is Unknown else fields, kind)
        check_values(event)
        return event
    except msgspec.ValidationError as error:
        raise LineError(f"not a `{fields['type'][:40]}` event: {_lower(error)}") from None


def _as_unknown(fields: Line) -> Line:
    kept = {name: value for name, value in fields.items() if name not in ("type", "t_s", *seal.FIELDS)}
    return {"t_s": fields.get("t_s"), "original_type": fields["type"], "fields": kept}


def _lower(error: Exception) -> str:
    text = str(error)
    return text[:1].lower() + text[1:]

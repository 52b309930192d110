"""An event to one line of the log and back: compact JSON, `type` first.

Must not know files, line numbers or what is secret: `canonical` prepares an event, the reader says where a line stood.
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
    """One line, without its newline. An `Unknown` becomes the line that it was read from."""
    if isinstance(event, Unknown):
        return _encoder.encode({"type": event.original_type, "t_s": event.t_s, **event.fields})
    return _encoder.encode(event)


def decode(line: bytes) -> Event:
    """The event in `line`: unknown fields are ignored, an unknown type becomes `Unknown`. Raises LineError."""
    try:
        event: Event = _decoder.decode(line)
    except (msgspec.ValidationError, *_NOT_JSON):
        return from_plain(decode_plain(line))  # which says what is wrong, if the type is not just unknown
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

"""Encodes an event as one line of the log, and decodes it: compact JSON, `type` first.

Must not know files, line numbers or secrets: `canonical` prepares events, and the reader adds line numbers to errors.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

from ..model.events import Event, Header, KnownEvent, Log, Mark, Sample, Unknown
from ..model.findings import Blame, Readings

# -- seal ----------------------------------------------------------------------------------------------------------------------
# The seal of a line: its number in the log, and a checksum, so that any damage is detected.
#
#     {"type":"note","t_s":3.2,"text":"slower now","line":7,"crc":"90b40950"}
#
# Each line is still one JSON object. `line` is 1 for the header; `crc` is the CRC-32 (that of zlib and gzip, eight hexadecimal
# digits) of the line's bytes before `,"crc"`. The numbers show lines that were deleted, duplicated or moved. Each line is checked
# by itself, so lines after a damaged one can be read. This module does not depend on the types of events.


FIELDS = ("line", "crc")
"""Names of the two fields; no event may have fields with these names."""
_SEAL = re.compile(rb',"line":([1-9][0-9]{0,14})(,"crc":"([0-9a-f]{8})"\}\r?\n?)\Z')
_LONGEST_SEAL_BYTES = 52


class SealError(ValueError):
    """A line was changed, duplicated or moved since it was written."""


def sealed(line: bytes, number: int) -> bytes:
    """The line with its seal as the last two fields. `line`: a JSON object with at least one field, without line end."""
    body = b'%b,"line":%d' % (line[:-1], number)
    return b'%b,"crc":"%08x"}' % (body, zlib.crc32(body))


def number_of(line: bytes) -> int:
    """The number of a sealed line, with or without line end; takes 2 us. Raises SealError if the line was changed or cut off, or
    has no seal.
    """
    seal = _seal_of(line)
    if seal is None:
        raise SealError("damaged: it does not end with its number and checksum")
    number, tail, written = seal.groups()
    found = zlib.crc32(line[: -len(tail)])
    if found != int(written, 16):
        raise SealError(f"damaged: its checksum is {written.decode()}, its content gives {found:08x}")
    return int(number)


def has_seal(line: bytes) -> bool:
    """Whether a line ends as sealed ones do, intact or not."""
    return _seal_of(line) is not None


def _seal_of(line: bytes) -> re.Match[bytes] | None:
    return _SEAL.search(line, max(0, len(line) - _LONGEST_SEAL_BYTES))


class Numbering:
    """Detects missing, duplicated and moved lines by the numbers of the lines read so far. `last`: number of the last line."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._damaged = 0
        """Number of damaged lines since then, whose numbers are not known."""

    def skip(self) -> None:
        """Count a damaged line."""
        self._damaged += 1

    def take(self, number: int) -> int:
        """Count the next intact line, with its number. Returns the number of lines missing before it, without damaged ones.

        Raises SealError for a line that is duplicated or moved. It must be left out, since events have an order.
        """
        if number <= self._last:
            raise SealError(f"it is line {number} of the recording, duplicated or moved")
        missing = max(0, number - self._last - 1 - self._damaged)
        self._last, self._damaged = number, 0
        return missing


# -- validity ------------------------------------------------------------------------------------------------------------------
# Checks of events that their types do not express, made while a line is read.


_DEEPEST = 32
"""Greatest depth of lists and objects in a field without declared types of values; the app writes less than 8."""
_GREATEST = 2.0**63
"""Greatest number; larger ones would become infinite in sums and products."""

_UNITS = ("_ms", "_s", "_rps", "_ratio", "_bytes")
"""Ends of names of readings that must be numbers, since they are compared and rounded."""


class _Users(msgspec.Struct):
    wait_s: dict[str, Any] | float | None = None


class _Guards(msgspec.Struct):
    allow_hosts: list[str] | None = None


class _Profile(msgspec.Struct):
    """The parts of a header's profile that are used, with their types; the profile may be of any version."""

    users: _Users | None = None
    guards: _Guards | None = None
    limits: dict[str, dict[str, Any]] | None = None
    slo: dict[str, float | None] | None = None
    work: dict[str, Any] | None = None


class LineError(ValueError):
    """A line is no event: it is not JSON, or does not have the form of its type."""


def check_values(event: Event) -> None:
    """Check that values are not nested too deeply and fit 64 bits, and that evidence and profile have the expected types. Raises
    LineError.

    Samples and lines of output are not checked: a day has 86,400 of them, and all of their fields have types.
    """
    if isinstance(event, Sample | Log):
        return
    _check_free(event)
    if isinstance(event, Mark) and isinstance(event.finding, Blame):
        _check_readings(event.finding.readings)
    elif isinstance(event, Header):
        _check_profile(event.profile)


def _check_readings(readings: Readings) -> None:
    for name, value in readings.items():
        if name.endswith(_UNITS) and not isinstance(value, int | float):
            where = f"$.finding.readings.{name[:40]}"
            raise LineError(f"not a `mark` event: expected a number, got {type(value).__name__} - at `{where}`")


def _check_profile(profile: Mapping[str, Any]) -> None:
    try:
        msgspec.convert(profile, _Profile)
    except msgspec.ValidationError as error:
        raise LineError(f"not a `header` event: its profile: {str(error)[:1].lower()}{str(error)[1:]}") from None


def _check_free(value: Any, depth: int = 0) -> None:
    if depth > _DEEPEST:
        raise LineError(f"lists or objects in one another, more than {_DEEPEST} deep")
    match value:
        case int() | float() if abs(value) > _GREATEST:
            raise LineError("a number beyond 64 bits")
        case msgspec.Struct():
            _check_free(msgspec.structs.asdict(value), depth)
        case dict():
            for each in value.values():
                _check_free(each, depth + 1)
        case list() | tuple():
            for each in value:
                _check_free(each, depth + 1)


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
    kept = {name: value for name, value in fields.items() if name not in ("type", "t_s", *FIELDS)}
    return {"t_s": fields.get("t_s"), "original_type": fields["type"], "fields": kept}


def _lower(error: Exception) -> str:
    text = str(error)
    return text[:1].lower() + text[1:]

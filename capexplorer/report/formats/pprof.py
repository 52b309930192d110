"""`export --format pprof`: the sampled stacks for `go tool pprof`, one file for each level, runtime and clock.

A file is a gzipped message `Profile` of pprof's profile.proto, written here field by field: five kinds of fields need no
library. `-diff_base` with the file of the low load shows what grew, in seconds, not for each request.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

from ...errors import InputError
from ...model.stacks import Frame, SampledStacks
from ...model.timeline import Timeline
from ..escaping import visible
from ..stacks import every_sampling
from . import Format

_NANOSECONDS = 1e9

_GZIP = 31
"""Window bits of zlib for a gzip file. The module gzip writes other bytes from Python 3.13 on."""


def render(timeline: Timeline) -> dict[str, bytes]:
    """The files by name. Raises InputError if no stacks were sampled."""
    files: dict[str, bytes] = {}
    for level, sampled in every_sampling(timeline):
        load = f"users-{level.load.users:g}" if level.load.per_s is None else f"rate-{level.load.per_s:g}"
        name = f"level-{level.opened.index:02}-{load}-{sampled.runtime}-{sampled.clock}"
        while f"{name}.pb.gz" in files:
            name += "-more"
        files[f"{name}.pb.gz"] = zlib.compress(profile(sampled), level=9, wbits=_GZIP)
    if not files:
        raise InputError("pprof: no stacks were sampled in this session")
    return files


def profile(sampled: SampledStacks) -> bytes:
    """The message, not compressed."""
    texts: dict[str, int] = {"": 0}
    kind = _field(1, _number(1, _text("time", texts)) + _number(2, _text("nanoseconds", texts)))
    functions: dict[tuple[str, str], int] = {}
    locations = b"".join(_location(number, frame, functions) for number, frame in enumerate(sampled.frames, 1))
    samples = b"".join(
        _field(
            2, _numbers(1, (each + 1 for each in reversed(stack.frames))) + _numbers(2, (round(stack.seconds * _NANOSECONDS),))
        )
        for stack in sampled.stacks
    )
    named = b"".join(
        _field(
            5,
            _number(1, number) + _number(2, _text(name, texts)) + _number(3, _text(name, texts)) + _number(4, _text(file, texts)),
        )
        for (name, file), number in functions.items()
    )
    comment = _number(13, _text(f"{sampled.clock} time of {sampled.runtime}, by {sampled.tool}", texts))
    duration = _number(10, round(sampled.seconds * _NANOSECONDS))
    return (
        kind + samples + locations + named + b"".join(_field(6, each.encode()) for each in _in_order(texts)) + duration + comment
    )


def _location(number: int, frame: Frame, functions: dict[tuple[str, str], int]) -> bytes:
    function = functions.setdefault((frame.function, frame.file), len(functions) + 1)
    return _field(4, _number(1, number) + _field(4, _number(1, function) + _number(2, frame.line)))


def _text(text: str, texts: dict[str, int]) -> int:
    """The index of a text in the message's table of texts."""
    return texts.setdefault(visible(text), len(texts))


def _in_order(texts: Mapping[str, int]) -> Iterable[str]:
    return sorted(texts, key=texts.__getitem__)


# -- the wire format of Protocol Buffers: https://protobuf.dev/programming-guides/encoding


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _numbers(field: int, values: Iterable[int]) -> bytes:
    return _field(field, b"".join(map(_varint, values)))


FORMAT = Format(
    name="pprof",
    place=10,
    description="a folder: sampled stacks for `go tool pprof`, a file per level and clock",
    files=lambda timeline, _: render(timeline),
)

"""Request events and exceptions with any values: what the recorder makes of them can be written and sent."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from capexplorer.load.kept_requests import RequestSampling
from capexplorer.load.recorder import Recorder
from capexplorer.load.user_code import UserErrors
from capexplorer.model import outside
from capexplorer.session.redact_request import without_secrets


class _Number(IntEnum):
    MANY = 24


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyError("no text")


class _Raising(Exception):
    @property
    def errno(self) -> int:
        raise KeyError("no number")


class _Textless:
    def __str__(self) -> str:
        raise KeyError("no text")


def _with(error: Exception, **attributes: Any) -> Exception:
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


_TEXTS = st.one_of(st.text(alphabet=st.characters(exclude_categories=())), st.just("\ud83d"), st.just("x" * 5_000))
_NUMBERS = st.one_of(
    st.none(), st.integers(), st.floats(), st.sampled_from([10**400, 2**70, -(2**70), 1e300, math.nan, _Number.MANY]), st.text()
)
_EXCEPTIONS = st.one_of(
    st.none(),
    _TEXTS,
    st.builds(ValueError, _TEXTS, _TEXTS),
    st.builds(OSError, st.integers(), _TEXTS),
    st.builds(lambda number, text: _with(ValueError(text), errno=number, code=number, response=text), _NUMBERS, _TEXTS),
    st.builds(_Unprintable),
    st.builds(_Raising),
)


def any_request_event() -> list[Any]:
    """[problems, whether requests were recorded, whether invalid events were named]."""
    problems: list[str] = []
    errors = UserErrors()
    recorder = Recorder(errors=errors, sampling=RequestSampling(without_secrets))
    recorded = 0

    @settings(deadline=None)
    @given(st.one_of(_TEXTS, st.builds(_Textless)), st.one_of(_TEXTS, st.none()), _NUMBERS, _NUMBERS, _EXCEPTIONS, _TEXTS)
    def fire(name: Any, method: Any, time_ms: Any, length: Any, exception: Any, url: str) -> None:
        nonlocal recorded
        recorder.on_request(method, name, time_ms, length, exception, start_time=None, url=url)
        tick = recorder.drain(0.0, 0)
        recorded += tick.all_requests
        for each in (*tick.endpoints, *tick.failures, *(kept.request for kept in tick.kept)):
            msgspec.msgpack.encode(each)
            msgspec.json.encode(each)
            if outside.struct(each) != (each, ()):
                problems.append(repr(each)[:200])
        if isinstance(exception, Exception):
            errors.add(exception)
        for error in errors.waiting:
            f"{error.type}{error.text}{error.line}".encode()

    fire()
    return [problems, recorded > 0, any(each.type == "InvalidRequestEvent" for each in errors.waiting)]

"""Requests that are kept in full: which ones, and what is kept of each, by client."""

from __future__ import annotations

import itertools
import random
from typing import Any

import msgspec
import pytest

from capexplorer.load.kept_requests import A_DRAIN_MOST, EndedRequest, RequestSampling
from capexplorer.model.events import FailureSignature
from capexplorer.model.kept_request import BODY_MOST_BYTES, EVEN_MOST, FAILURES_MOST, SLOWEST_MOST, PlacedRequest, Why
from capexplorer.session.redact_request import without_secrets


def _sampling(seed: int = 1) -> RequestSampling:
    ticking = itertools.count(1)
    return RequestSampling(lambda request: request, draw=random.Random(seed).random, monotonic=lambda: float(next(ticking)))


class Reply:
    """A reply that a client has read."""

    request = None

    def __init__(self, body: bytes = b"", status_code: int = 200) -> None:
        self._content, self.status_code = body, status_code
        self.headers = {"Content-Type": "text/plain"}


def _ask(
    sampling: RequestSampling, ms: float, name: str = "/a", failure: str = "", reply: Any = None, *, warm: bool = True
) -> None:
    signature = FailureSignature(types=("E",), text=failure) if failure else None
    if sampling.wants("GET", name, ms) or signature is not None:
        ended = EndedRequest("GET", name, ms, 0, signature, "", (), warm)
        sampling.take(ended, failure, reply or Reply(), None, "http://127.0.0.1/")


def _of(why: Why, kept: tuple[PlacedRequest, ...]) -> list[float]:
    return [each.request.brief.response_ms for each in kept if each.place.why == why]


def test_the_first_and_the_last_of_each_failure_are_kept() -> None:
    sampling = _sampling()
    for ms, failure in ((1, "x"), (2, "x"), (3, "y"), (4, "x"), (5, "y")):
        _ask(sampling, ms, failure=failure, warm=False)
    kept = sampling.drain(all_that_wait=True)
    assert (_of("first", kept), _of("last", kept)) == ([1, 3], [4, 5])


def test_the_slowest_of_each_endpoint_is_kept_once_a_level() -> None:
    sampling = _sampling()
    for level in (0, 1):
        sampling.begin_level(level)
        for ms, name in ((5, "/a"), (9, "/a"), (7, "/a"), (2, "/b")):
            _ask(sampling, ms + level, name)
    slowest = {
        each.place.key: each.request.brief.response_ms
        for each in sampling.drain(all_that_wait=True)
        if each.place.why == "slowest"
    }
    assert slowest == {"0 GET /a": 9, "0 GET /b": 2, "1 GET /a": 10, "1 GET /b": 3}


def test_of_many_short_levels_with_ids_in_the_names_the_latest_slowest_ones_wait() -> None:
    sampling = _sampling()
    for level in range(20):
        sampling.begin_level(level)
        for number in range(60):
            _ask(sampling, 5, f"/{level}/{number}")
    waiting = [each.place.key for each in sampling.drain(all_that_wait=True) if each.place.why == "slowest"]
    assert len(waiting) == SLOWEST_MOST
    assert waiting[-1].startswith("19 GET /19/")


def test_a_request_of_a_new_user_is_not_kept_as_a_slowest_one() -> None:
    sampling = _sampling()
    _ask(sampling, 900, warm=False)
    _ask(sampling, 5)
    assert _of("slowest", sampling.drain(all_that_wait=True)) == [5]


def test_the_even_sample_has_as_many_requests_from_each_part_of_the_session() -> None:
    """8 samples of 80 from 2,000 requests: 160 from each quarter, with a standard error of 11."""
    quarters = [0, 0, 0, 0]
    for seed in range(8):
        sampling = _sampling(seed)
        found: dict[str, PlacedRequest] = {}
        for number in range(2_000):
            _ask(sampling, float(number))
            if number % 500 == 0:
                found |= {each.place.key: each for each in sampling.drain(all_that_wait=True) if each.place.why == "even"}
        found |= {each.place.key: each for each in sampling.drain(all_that_wait=True) if each.place.why == "even"}
        assert len(found) == EVEN_MOST
        for each in found.values():
            quarters[int(each.request.brief.response_ms // 500)] += 1
    assert [count for count in quarters if abs(count - 160) >= 4 * 11] == []


def test_the_number_of_kept_requests_and_the_work_of_one_drain_are_bounded() -> None:
    sampling = _sampling()
    for number in range(5_000):
        _ask(sampling, float(number), f"/{number}", failure=f"kind {number}")
    assert len(sampling.drain()) <= A_DRAIN_MOST
    kept = sampling.drain(all_that_wait=True)
    assert len(kept) <= 2 * FAILURES_MOST + EVEN_MOST + 50


def test_a_long_body_is_cut_and_its_size_is_known() -> None:
    sampling = _sampling()
    _ask(sampling, 1.0, reply=Reply(b"x" * 50_000))
    received = sampling.drain(all_that_wait=True)[0].request.received
    assert (len(received.text), received.size_bytes, received.is_cut) == (BODY_MOST_BYTES, 50_000, True)


def test_a_binary_body_has_a_size_and_no_text() -> None:
    sampling = _sampling()
    _ask(sampling, 1.0, reply=Reply(bytes(range(256))))
    received = sampling.drain(all_that_wait=True)[0].request.received
    assert (received.text, received.size_bytes, received.is_binary) == ("", 256, True)


class Odd(Reply):
    """A reply of user code, whose parts have unexpected types."""

    def __init__(self, body: bytes, part: object) -> None:
        super().__init__(body)
        self.headers = self.request = self.elapsed = self.history = part  # type: ignore[assignment]
        self.url = part


PARTS = {
    "nothing": None,
    "number": 7,
    "text": "x",
    "bytes": b"x",
    "list": [1],
    "headers": {"a": object(), 3: b"\xff"},
    "object": object(),
}
BODIES = {
    "open brackets": b"[" * 4_000,
    "deep": b"[" * 400 + b"]" * 400,
    "half a surrogate": b'{"a": "\\ud800", "b": 1e999}',
    "no text": b"\xff\xfe\x00",
    "cut within a character": "\N{SNOWMAN}".encode() * 2_000,
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("body", BODIES)
def test_a_reply_with_parts_of_any_type_can_be_kept_redacted_and_encoded(part: str, body: str) -> None:
    sampling = RequestSampling(without_secrets)
    _ask(sampling, 1.0, reply=Odd(BODIES[body], PARTS[part]))
    kept = sampling.drain(all_that_wait=True)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(kept), type=tuple[PlacedRequest, ...]) == kept
    assert msgspec.json.decode(msgspec.json.encode(kept), type=tuple[PlacedRequest, ...]) == kept

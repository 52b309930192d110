"""The stream of failures: a bounded number of keys and bytes per second, and no failure is lost."""

from __future__ import annotations

from collections import Counter

import msgspec

from capexplorer.load.bounded_keys import BYTES_A_TICK, KEYS, KINDS, TEXTS, FailureStream
from capexplorer.model.events import FailureSignature, FailureTick


def refused(text: str = "Connection refused") -> FailureSignature:
    return FailureSignature(types=("ConnectionRefusedError",), errno=111, text=text)


def ticks_of(stream: FailureStream) -> list[FailureTick]:
    failures, retried = stream.drain()
    return [*failures, *retried]


def size(ticks: list[FailureTick]) -> int:
    return sum(len(msgspec.json.encode(tick)) for tick in ticks)


def test_a_hundred_thousand_failures_a_minute_of_many_kinds_add_less_than_2_kb_a_second() -> None:
    stream, reported = FailureStream(), []
    for _ in range(60):
        for n in range(1667):
            stream.add(f"/endpoint/{n % 12}", "GET", refused(f"kind {n % 40}"), retried=n % 5 == 0)
        ticks = ticks_of(stream)
        assert size(ticks) <= BYTES_A_TICK < 2_000
        assert ticks
        reported += ticks
    stream.most_bytes = float("inf")
    reported += ticks_of(stream)
    assert sum(tick.count for tick in reported) == 60 * 1667


def test_failures_over_the_limit_follow_later_with_their_count_and_new_kinds_come_first() -> None:
    stream = FailureStream()
    for n in range(40):
        stream.add("/a", "GET", refused(f"kind {n}"))
    first = ticks_of(stream)
    stream.add("/b", "GET", refused("new"))
    for n in range(40):
        stream.add("/a", "GET", refused(f"kind {n}"))
    counted = Counter({tick.signature.text: tick.count for tick in first})
    second = ticks_of(stream)
    assert {tick.signature.text for tick in first}.isdisjoint(tick.signature.text for tick in second)
    for ticks in (second, *(ticks_of(stream) for _ in range(20))):
        counted.update({tick.signature.text: tick.count for tick in ticks})
    assert counted == {**{f"kind {n}": 2 for n in range(40)}, "new": 1}


def test_texts_that_never_repeat_do_not_grow_the_keys() -> None:
    stream, keys, counted = FailureStream(), set(), 0
    stream.most_bytes = float("inf")
    for n in range(5_000):
        stream.add("/a", "GET", refused(f"text {n}"))
    for tick in ticks_of(stream):
        keys.add(tick.signature)
        counted += tick.count
    assert counted == 5_000
    assert len(keys) == TEXTS + 1
    assert FailureSignature(types=("ConnectionRefusedError",), errno=111) in keys


def test_kinds_and_endpoints_that_never_repeat_do_not_grow_the_keys() -> None:
    stream, keys = FailureStream(), set()
    stream.most_bytes = float("inf")
    for n in range(20_000):
        stream.add(f"/{n % 500}", "GET", FailureSignature(types=(f"Error{n}",)))
        if n % 1000 == 999:
            keys |= {(tick.name, tick.method, tick.signature) for tick in ticks_of(stream)}
    assert len(keys) <= KEYS + KINDS + 1


def test_the_full_text_of_a_signature_comes_once_with_its_first_tick() -> None:
    stream, lost = FailureStream(), FailureSignature(types=("CatchResponseError",), text="lost_updates")
    stream.add("/b", "GET", lost, "lost_updates: expected 90, read 60")
    stream.add("/a", "GET", lost, "lost_updates: expected 7, read 6")
    stream.add("/a", "GET", refused(), "Connection refused")
    assert sorted(filter(None, (tick.example for tick in ticks_of(stream)))) == ["lost_updates: expected 90, read 60"]
    stream.add("/c", "GET", lost, "lost_updates: expected 8, read 5")
    assert [tick.example for tick in ticks_of(stream)] == [None]


def test_an_example_that_does_not_fit_into_a_tick_follows_with_its_failure() -> None:
    stream, seen = FailureStream(), Counter[str]()
    for n in range(40):
        stream.add("/a", "GET", refused(f"kind {chr(97 + n)}"), "x" * 190 + str(n))
    while ticks := ticks_of(stream):
        assert size(ticks) <= BYTES_A_TICK
        seen.update(tick.example for tick in ticks if tick.example)
    assert len(seen) == seen.total() == 40


def test_failures_and_repeated_attempts_are_distinguished_and_in_order() -> None:
    stream = FailureStream()
    for name in ("/b", "/a", "/b"):
        stream.add(name, "GET", refused())
    stream.add("/a", "GET", refused(), retried=True)
    failures, retried = stream.drain()
    assert [(tick.name, tick.count) for tick in failures] == [("/a", 1), ("/b", 2)]
    assert [(tick.name, tick.count) for tick in retried] == [("/a", 1)]
    assert stream.drain() == ((), ())

"""The format of a line of the log: what was written is read, and what no event can be is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.scenario import HEADER
from marked import marked

from capexplorer.model.events import EndpointTick, Event, LevelClosed, Log, Mark, Note, Sample, Unknown
from capexplorer.model.figures import LevelEndpoint, LevelFigures
from capexplorer.model.findings import Cause
from capexplorer.model.readings import GeneratorReading
from capexplorer.session import codec
from capexplorer.session.canonical import canonical
from capexplorer.session.codec import LineError, decode, encode

from .samples import ONE_OF_EACH, busy_sample

finite = st.floats(0, 1e7, allow_nan=False)


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: type(event).__name__)
def test_every_event_returns_from_its_line(event: Event) -> None:
    line = encode(event)
    assert decode(line) == event
    assert line.startswith(b'{"type":"' + type(event).__struct_config__.tag.encode())  # type: ignore[union-attr]
    assert b"\n" not in line


def test_a_busy_second_is_read_as_its_canonical_form() -> None:
    sample = canonical(busy_sample(86_399.123456))
    assert decode(encode(sample)) == sample
    assert canonical(sample) is sample


@given(finite, finite, finite)
def test_rounding_keeps_the_documented_digits(t_s: float, cpu_ratio: float, sum_ms: float) -> None:
    sample = Sample(
        t_s=t_s,
        duration_s=1.0,
        level=0,
        users=1,
        wanted=1,
        phase="settled",
        endpoints=(EndpointTick(name="/", method="GET", latency_sum_ms=sum_ms),),
        generator=GeneratorReading(cpu_ratio=cpu_ratio),
    )
    again = canonical(sample)
    assert again.generator is not None and again.generator.cpu_ratio is not None
    assert abs(again.t_s - t_s) <= 0.000501
    assert abs(again.generator.cpu_ratio - cpu_ratio) <= 0.0000501
    assert abs(again.endpoints[0].latency_sum_ms - sum_ms) <= 0.000501
    assert decode(encode(again)) == again


def test_a_levels_figures_keep_all_their_digits() -> None:
    figures = LevelFigures(settled=True, failure_ratio=1 / 3_000_000, goodput_rps=100 / 3)
    level = LevelClosed(t_s=1 / 3, index=0, users=1, started_s=2 / 3, figures=figures)
    assert canonical(level) == LevelClosed(t_s=0.333, index=0, users=1, started_s=0.667, figures=figures)


def test_a_busy_second_stays_small() -> None:
    """Four endpoints of 40 values with all readings: 3,242 bytes."""
    assert len(encode(canonical(busy_sample(86_399.123456)))) < 3_450


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_at_all_can_be_written(text: str) -> None:
    event = canonical(Log(t_s=0.0, source="target", text=text))
    assert decode(encode(event)) == event


def test_a_targets_metric_that_is_not_a_number_is_left_out() -> None:
    sample = canonical(msgspec.structs.replace(busy_sample(1.0), app={"depth": math.nan, "rate": math.inf, "done": 1.0}))
    assert decode(encode(sample)) == sample
    assert sample.app == {"done": 1.0}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_costs_no_line(number: float) -> None:
    """None where a field may be that, else its default: JSON writes null, which would make the line unreadable."""
    busy = busy_sample(1.0)
    assert busy.host is not None
    host = msgspec.structs.replace(busy.host, cpu_ratio=number, swapped_in_per_s=number)
    sample = canonical(msgspec.structs.replace(busy, p50_ms=number, duration_s=number, host=host))
    assert decode(encode(sample)) == sample
    assert sample.host is not None
    assert (sample.p50_ms, sample.duration_s, sample.host.cpu_ratio, sample.host.swapped_in_per_s) == (None, 0.0, None, 0.0)


def test_unknown_fields_are_ignored_at_every_depth() -> None:
    fields = json.loads(encode(canonical(busy_sample(1.0))))
    fields["new"] = {"a": [1]}
    fields["host"]["new"] = 1
    fields["endpoints"][0]["new"] = None
    assert decode(json.dumps(fields).encode()) == canonical(busy_sample(1.0))


NAMES = st.text().filter(lambda name: name not in codec.FIELDS)
"""Names of fields that any event may have; `line` and `crc` belong to the seal."""


@settings(max_examples=15)
@given(st.dictionaries(NAMES, st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(), st.lists)))
def test_an_event_of_an_unknown_type_is_written_back_as_it_was(fields: dict[str, object]) -> None:
    line = {**fields, "type": "from_the_future", "t_s": 1.5}
    event = decode(json.dumps(line).encode())
    assert isinstance(event, Unknown)
    assert (event.t_s, event.original_type) == (1.5, "from_the_future")
    assert json.loads(encode(event)) == line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[1]", "not an event"),
        (b"{}", "not an event"),
        (b'{"type":7}', "not an event"),
        (b'{"type":"note"}', "not a `note` event"),
        (b'{"type":"note","t_s":"x","text":""}', r"\$\.t_s"),
        (b'{"type":"note","t_s":1,"text":"\xff"}', "not valid JSON"),
        (b'{"type":"new"}', "not a `new` event"),
        (b"[" * 100_000, "not valid JSON"),
    ],
    ids=str,
)
def test_a_line_of_the_wrong_shape_is_refused_with_the_reason(line: bytes, message: str) -> None:
    with pytest.raises(LineError, match=message):
        decode(line)


@given(st.binary(max_size=200), st.integers(0, 60), st.integers(0, 60))
def test_a_damaged_line_is_an_event_or_a_line_error(junk: bytes, start: int, length: int) -> None:
    line = encode(Note(t_s=1.0, text="something that was noted"))
    try:
        event = decode(line[:start] + junk + line[start + length :])
    except LineError:
        return
    assert isinstance(event, Event)


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


MARK = marked(t_s=1.0, key="knee:0", state="open", kind="knee", id="knee")


def with_reading(**readings: Any) -> Mark:
    return msgspec.structs.replace(MARK, finding=Cause(name="unknown", readings=readings))


def with_requests(count: int) -> Event:
    served = LevelEndpoint(name="/pay", method="GET", requests=count, failures=0)
    return LevelClosed(t_s=9.0, index=0, users=4, started_s=0.0, figures=LevelFigures(settled=True), endpoints=(served,))


def second_with(**counts: float) -> Event:
    endpoint = msgspec.structs.replace(EndpointTick(name="/pay"), **counts)
    return Sample(t_s=9.0, duration_s=1.0, level=0, users=4, wanted=4, phase="settled", endpoints=(endpoint,))


def with_failure_ratio(ratio: float) -> Event:
    return LevelClosed(t_s=9.0, index=0, users=4, started_s=0.0, figures=LevelFigures(settled=True, failure_ratio=ratio))


def with_profile(**profile: object) -> Event:
    return msgspec.structs.replace(HEADER, profile=profile)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (with_profile(users={"wait_s": {"between": nested(500)}}), "more than 32 deep"),
        (with_reading(pid=10**30), "beyond 64 bits|Integer"),
        (msgspec.structs.replace(MARK, users=1e300), "beyond 64 bits"),
        (with_reading(why=[1]), r"\$\.finding\.readings"),
        (with_reading(response_ms={"a": 1}), r"expected a number, got dict - at `\$\.finding\.readings\.response_ms`"),
        (with_reading(goodput_ratio="x"), r"expected a number, got str - at `\$\.finding\.readings\.goodput_ratio`"),
        (with_profile(limits="none"), r"its profile: expected `object \| null`, got `str` - at `\$\.limits`"),
        (msgspec.structs.replace(HEADER, t_s=-(2.0**63)), r"expected `float` >= -1000000000.0 - at `\$\.t_s`"),
        (second_with(failures=-5), r"expected `int` >= 0 - at `\$\.endpoints\[0\]\.failures`"),
        (second_with(requests=2**62), r"expected `int` <= 1000000000000 - at `\$\.endpoints\[0\]\.requests`"),
        (second_with(latency_sum_ms=-1.0), r"expected `float` >= 0.0 - at `\$\.endpoints\[0\]\.latency_sum_ms`"),
        (with_requests(-5), r"expected `int` >= 0 - at `\$\.endpoints\[0\]\.requests`"),
        (with_failure_ratio(1e15), r"expected `float` <= 1.0 - at `\$\.figures\.failure_ratio`"),
        (with_profile(users=7), r"its profile: expected `object \| null`, got `int` - at `\$\.users`"),
    ],
)
def test_values_that_types_allow_and_the_model_forbids_are_refused_as_a_line_is_read(event: Event, message: str) -> None:
    with pytest.raises(LineError, match=message):
        decode(encode(event))

"""Values that first failed in damaged logs (`make fuzz`): types allow them, and the model refuses them as a line is read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from kit.scenario import HEADER
from marked import marked

from capexplorer.model.events import Event, LevelClosed, Mark
from capexplorer.model.figures import LevelEndpoint, LevelFigures
from capexplorer.model.findings import Cause
from capexplorer.session.codec import LineError, decode, encode


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
        (with_requests(-5), r"expected `int` >= 0 - at `\$\.endpoints\[0\]\.requests`"),
        (with_failure_ratio(1e15), r"expected `float` <= 1.0 - at `\$\.figures\.failure_ratio`"),
        (with_profile(users=7), r"its profile: expected `object \| null`, got `int` - at `\$\.users`"),
    ],
)
def test_values_that_types_allow_and_the_model_forbids_are_refused_as_a_line_is_read(event: Event, message: str) -> None:
    with pytest.raises(LineError, match=message):
        decode(encode(event))

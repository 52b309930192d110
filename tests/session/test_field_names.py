"""Fields whose names in the log differ from those in the code: names in the log stay, so that old logs and other programs
work."""

from __future__ import annotations

import msgspec
import pytest
from kit.scenario import HEADER

from capexplorer.model.events import ClientOverhead, Event, Verdict
from capexplorer.session.codec import decode, encode

from .samples import busy_sample


@pytest.mark.parametrize(
    ("event", "field", "value", "in_log"),
    [
        (HEADER, "client_overhead_ms", {"HttpUser": ClientOverhead(p50_ms=1.5, p99_ms=4.0)}, "client_floor_ms"),
        (busy_sample(1.0), "suspended_s", 2.5, "stood_still_s"),
        (Verdict(t_s=1.0), "disturbed_levels", (2, 3), "held_levels"),
    ],
)
def test_a_field_keeps_its_name_in_the_log(event: Event, field: str, value: object, in_log: str) -> None:
    line = encode(msgspec.structs.replace(event, **{field: value}))
    assert in_log in msgspec.json.decode(line) and field not in msgspec.json.decode(line)
    assert getattr(decode(line), field) == value

"""Fields whose names in the log differ from those in the code: names in the log stay, so that old logs and other programs
work."""

from __future__ import annotations

import msgspec
import pytest
from kit.scenario import HEADER

from capexplorer.model.events import ClientOverhead, Verdict
from capexplorer.model.proposals import GoTo
from capexplorer.model.verdicts import UslFit

from .samples import busy_sample

FIT = UslFit(lambda_rps=10.0, sigma=0.1, kappa=0.0, peak_users=None, peak_rps=None, r_squared=0.9)


@pytest.mark.parametrize(
    ("logged", "field", "value", "in_log"),
    [
        (HEADER, "client_overhead_ms", {"HttpUser": ClientOverhead(p50_ms=1.5, p99_ms=4.0)}, "client_floor_ms"),
        (busy_sample(1.0), "suspended_s", 2.5, "stood_still_s"),
        (Verdict(t_s=1.0), "disturbed_levels", (2, 3), "held_levels"),
        (GoTo(3, "beyond"), "opens_new_level", True, "anew"),
        (FIT, "unreliable_why", "no_bend", "grey"),
    ],
)
def test_a_field_keeps_its_name_in_the_log(logged: msgspec.Struct, field: str, value: object, in_log: str) -> None:
    changed = msgspec.structs.replace(logged, **{field: value})
    line = msgspec.json.encode(changed)
    assert in_log in msgspec.json.decode(line) and field not in msgspec.json.decode(line)
    assert msgspec.json.decode(line, type=type(logged)) == changed

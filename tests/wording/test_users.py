"""How a report says what its users do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from kit.scenario import Scenario, header

from capexplorer.profile import Wait
from capexplorer.report.statements import opening


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        ({"between": [0.1, 0.5]}, "waits 0.1 to 0.5 s after the reply"),
        ({"constant": 0.3}, "waits 0.3 s after the reply"),
        ({"constant": 0}, "does not wait after the reply"),
        ({"poisson": 2.0}, "waits 0.5 s after the reply on average (exponential)"),
        ({"constant_pacing": 1.0}, "waits until 1 s after it was sent"),
        ({"constant_throughput": 2.0}, "waits so that it makes 2/s"),
    ],
)
def test_each_kind_of_wait_has_its_words(wait: Mapping[str, Any], words: str) -> None:
    (kind,) = wait
    assert kind in Wait.__struct_fields__
    timeline = Scenario(header(profile={"users": {"wait_s": wait}})).timeline
    assert f"A user sends a request, {words}, and sends the next one" in opening(timeline)[0]

"""Whether a settled level's generator was saturated, by the means of its readings (the same over seconds: test_watch)."""

from __future__ import annotations

import pytest

from capexplorer.analysis.causes.generator_saturation import is_saturated
from capexplorer.model.events import LevelFigures

RESOLVERS = {
    "generator.process_cpu_ratio": 1.134, "generator.cpu_ratio": 0.852, "generator.screen_cpu_ratio": 0.0,
    "generator.recorder_cpu_ratio": 0.022,
}  # fmt: skip
"""As read at 20 users without waits, a connection a request, to a name: 3,438/s, and nginx at 0.11 of a core."""

FOUND = [
    ("time to spare", 0.30, {}, 0.1, False),
    ("busy, beside an idle service", 0.96, {}, 0.1, True),
    ("busy, beside a busy service", 0.96, {}, 1.6, False),
    ("without idle time", 0.98, {}, 1.6, True),
    ("busy with the threads that resolve names, beside an idle service", 0.852, RESOLVERS, 0.11, True),
    ("the same, beside a busy service", 0.852, RESOLVERS, 1.6, False),
    ("nearly busy, and its threads were not measured", 0.852, {"generator.process_cpu_ratio": 1.134}, 0.11, False),
    ("threads beside a loop that has time to spare", 0.5, RESOLVERS | {"generator.cpu_ratio": 0.5}, 0.11, False),
    ("its CPU was not measured", None, {}, 0.1, None),
]


@pytest.mark.parametrize(
    ("cpu_ratio", "readings", "target_ratio", "saturated"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND]
)
def test_saturation(cpu_ratio: float | None, readings: dict[str, float], target_ratio: float, saturated: bool | None) -> None:
    figures = LevelFigures(settled=True, generator_cpu_ratio=cpu_ratio, target_cpu_ratio=target_ratio, readings=readings)
    assert is_saturated(figures) is saturated

"""HdrHistogram percentile distributions: the text that its plotters read."""

from __future__ import annotations

import re

import pytest

from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.timeline import Timeline
from capexplorer.report import hgrm

from .material import ramp, session


def table(content: bytes) -> list[list[float]]:
    """Its lines as numbers."""
    lines = content.decode().splitlines()
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"] and lines[1] == ""
    return [[float(cell) for cell in line.split()] for line in lines[2:] if not line.startswith("#")]


def test_values_are_milliseconds_and_steps_halve_towards_the_greatest() -> None:
    histogram = LatencyHistogram()
    histogram.record_us([1_000 * n for n in range(1, 1001)])
    found = table(hgrm.distribution(histogram))
    assert [line[1] for line in found[:8]] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6]
    assert [round(line[0]) for line in found[:6]] == [1, 100, 200, 300, 400, 500]
    assert found[5][2] == 500 and found[5][3] == 2.0
    assert found[-1][1:] == [1.0, 1000.0] and len(found[-1]) == 3


def test_mean_deviation_and_count_stand_below_in_the_same_unit() -> None:
    histogram = LatencyHistogram()
    histogram.record_us([10_000, 20_000, 30_000])
    lines = hgrm.distribution(histogram).decode().splitlines()[-3:]
    mean, deviation = re.fullmatch(r"#\[Mean    = +([\d.]+), StdDeviation   = +([\d.]+)\]", lines[0]).groups()  # type: ignore[union-attr]
    assert float(mean) == pytest.approx(20.0, rel=1e-3) and float(deviation) == pytest.approx(8.165, rel=1e-3)
    assert lines[1].startswith("#[Max     =       30.0") and lines[1].endswith("Total count    =            3]")


def test_a_single_value() -> None:
    histogram = LatencyHistogram()
    histogram.record_us([1_500])
    assert [line[:3] for line in table(hgrm.distribution(histogram))] == [[1.5, 0.0, 1.0], [1.5, 1.0, 1.0]]


def test_a_file_a_level_and_a_file_a_bin() -> None:
    assert sorted(hgrm.render(Timeline(session()))) == [f"level-0{n}-users-{users}.hgrm" for n, users in enumerate((5, 20, 50))]
    assert all(name.startswith("level-00-bin-") for name in hgrm.render(Timeline(ramp())))


def test_an_open_level_has_its_figures_so_far() -> None:
    timeline = Timeline(session((5,))[:-4])
    assert timeline.levels[0].closed is None
    (content,) = hgrm.render(timeline).values()
    assert table(content)[-1][2] == timeline.levels[0].figures.requests

"""The export `hgrm`: percentile distributions as text, in the format that plotters of HdrHistogram read."""

from __future__ import annotations

import re

import pytest

from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats import hgrm

from .exported_sessions import ramp, session


def distribution_lines(content: bytes) -> list[list[float]]:
    """The lines of a distribution as numbers: value, percentile, total count, 1/(1 - percentile)."""
    lines = content.decode().splitlines()
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    assert lines[1] == ""
    return [[float(cell) for cell in line.split()] for line in lines[2:] if not line.startswith("#")]


def test_values_are_in_ms_and_steps_of_the_percentile_are_halved_towards_100() -> None:
    histogram = LatencyHistogram()
    histogram.record_us([1_000 * n for n in range(1, 1001)])
    found = distribution_lines(hgrm.distribution(histogram))
    assert [line[1] for line in found[:8]] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6]
    assert [round(line[0]) for line in found[:6]] == [1, 100, 200, 300, 400, 500]
    assert found[5][2:] == [500, 2.0]
    assert found[-1][1:] == [1.0, 1000.0], "the last line has no 1/(1 - percentile)"


def test_mean_deviation_and_maximum_in_ms_and_the_count_follow_the_distribution() -> None:
    histogram = LatencyHistogram()
    histogram.record_us([10_000, 20_000, 30_000])
    lines = hgrm.distribution(histogram).decode().splitlines()[-3:]
    mean, deviation = re.fullmatch(r"#\[Mean    = +([\d.]+), StdDeviation   = +([\d.]+)\]", lines[0]).groups()  # type: ignore[union-attr]
    assert float(mean) == pytest.approx(20.0, rel=1e-3)
    assert float(deviation) == pytest.approx(8.165, rel=1e-3)
    assert lines[1].startswith("#[Max     =       30.0")
    assert lines[1].endswith("Total count    =            3]")


def test_the_distribution_of_a_single_value() -> None:
    histogram = LatencyHistogram()
    histogram.record_us([1_500])
    assert [line[:3] for line in distribution_lines(hgrm.distribution(histogram))] == [[1.5, 0.0, 1.0], [1.5, 1.0, 1.0]]


def test_each_level_and_each_bin_of_a_ramp_has_a_file() -> None:
    assert sorted(hgrm.render(Timeline(session()))) == [f"level-0{n}-users-{users}.hgrm" for n, users in enumerate((5, 20, 50))]
    assert all(name.startswith("level-00-bin-") for name in hgrm.render(Timeline(ramp())))


def test_the_file_of_an_open_level_has_its_requests_so_far() -> None:
    timeline = Timeline(session((5,))[:-4])
    assert timeline.levels[0].closed is None
    (content,) = hgrm.render(timeline).values()
    assert distribution_lines(content)[-1][2] == timeline.levels[0].figures.requests

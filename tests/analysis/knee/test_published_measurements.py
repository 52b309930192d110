"""Published measurements: the detector agrees with what tests/data/README.md says of each."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from capexplorer.analysis.epoch.level_clock import settling_s
from capexplorer.analysis.knee.detector import analyse, judge
from capexplorer.analysis.ladder import LadderLevel, measured_of
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict
from capexplorer.session.importers import imported

from ..history import levels

DATA = Path(__file__).parents[2] / "data"
TABLES, HISTORIES = DATA / "tables", DATA / "histories"


def table(name: str) -> list[LadderLevel]:
    with (TABLES / f"{name}.csv").open() as file:
        rows = [{key: float(value) for key, value in row.items() if value} for row in csv.DictReader(file)]
    return [
        LadderLevel(
            users=row["users"],
            goodput_rps=row["throughput_rps"] * (1 - row.get("failure_ratio", 0.0)),
            throughput_rps=row["throughput_rps"],
            latency_ms=row.get("latency_ms"),
            failure_ratio=row.get("failure_ratio"),
        )
        for row in rows
    ]


def by_reader(name: str) -> CapacityVerdict:
    """The verdict on levels that these tests read from the file."""
    if (TABLES / f"{name}.csv").exists():
        return judge(table(name))
    return judge([level for path in sorted(HISTORIES.glob(f"{name}*_stats_history.csv")) for level in levels(path)])


def by_importer(name: str) -> CapacityVerdict:
    """The verdict on the session that the command `import` makes of the file."""
    paths = [TABLES / f"{name}.csv"]
    if not paths[0].exists():
        paths = sorted(HISTORIES.glob(f"{name}*_stats_history.csv"))
    timeline = Timeline(imported(paths, None, settling_s))
    return analyse([each.ladder_level for each in measured_of(timeline.levels, first_requests=True)])


Reader = Callable[[str], CapacityVerdict]
READERS = pytest.mark.parametrize("read", [by_reader, by_importer])


def knee_of(verdict: CapacityVerdict) -> KneeVerdict:
    assert verdict.knee is not None
    return verdict.knee


@READERS
@pytest.mark.parametrize(
    ("name", "least", "most", "limit"),
    [
        pytest.param("specsdm91", 28, 36, "unknown", id="Gunther's SPEC SDM91"),
        pytest.param("cisco", 10, 14, "unknown", id="Schwartz's Cisco: bends from 10, N* by its lines 13.5"),
        pytest.param("myrocks-read-only", 36, 44, "unknown", id="sysbench on 24 cores"),
        pytest.param("soy-a", 27, 29, "queueing", id="ten holds of Locust, as a table"),
        pytest.param("soy-a-", 27, 29, "queueing", id="the same, as histories"),
        pytest.param("fast-failures", 240, 310, "errors", id="a ramp into fast failures"),
    ],
)
def test_the_knee_and_its_limit_agree_with_the_published_ones(
    read: Reader, name: str, least: float, most: float, limit: str
) -> None:
    knee = knee_of(read(name))
    assert knee.kind == "knee"
    assert knee.users is not None
    assert least <= knee.users <= most
    assert knee.users_low is not None
    assert knee.users_high is not None
    assert knee.users_low < knee.users < knee.users_high
    assert knee.limit == limit


@READERS
def test_specsdm91_is_mildly_retrograde_beyond_72(read: Reader) -> None:
    peak = knee_of(read("specsdm91")).peak
    assert peak is not None
    assert (peak.users, peak.shape) == (72, "retrograde")


@READERS
def test_a_published_plateau_has_no_peak(read: Reader) -> None:
    for name in ("cisco", "myrocks-read-only", "soy-a"):
        assert knee_of(read(name)).peak is None, name


@READERS
def test_flask_flattens_from_18_and_has_no_knee_by_24_despite_constant_failures(read: Reader) -> None:
    knee = knee_of(read("flask-constant-errors"))
    assert (knee.kind, knee.users, knee.limit) == ("bend", 18, None)


@READERS
def test_goodput_collapses_while_fast_failures_push_rps_up(read: Reader) -> None:
    peak = knee_of(read("fast-failures")).peak
    assert peak is not None
    assert peak.shape == "collapse"
    assert 220 <= peak.users <= 300


@READERS
def test_latency_first_has_no_throughput_knee_up_to_200_but_latency_rises_before(read: Reader) -> None:
    verdict = read("latency-first")
    assert (knee_of(verdict).kind, knee_of(verdict).users) == ("no_knee", 200)
    assert verdict.latency_knee is not None
    assert verdict.latency_knee.users is not None
    assert 150 <= verdict.latency_knee.users <= 200

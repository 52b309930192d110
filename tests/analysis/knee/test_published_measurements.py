"""Published measurements: the detector agrees with what tests/data/README.md says of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.analysis.epoch.level_clock import settling_s
from capexplorer.analysis.knee.detector import analyse
from capexplorer.analysis.ladder import measured_of
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict
from capexplorer.session.importers import imported

DATA = Path(__file__).parents[2] / "data"
TABLES, HISTORIES = DATA / "tables", DATA / "histories"


def read(name: str) -> CapacityVerdict:
    """The verdict on the session that the command `import` makes of the file."""
    paths = [TABLES / f"{name}.csv"]
    if not paths[0].exists():
        paths = sorted(HISTORIES.glob(f"{name}*_stats_history.csv"))
    timeline = Timeline(imported(paths, None, settling_s))
    return analyse([each.ladder_level for each in measured_of(timeline.levels, first_requests=True)])


def knee_of(verdict: CapacityVerdict) -> KneeVerdict:
    assert verdict.knee is not None
    return verdict.knee


@pytest.mark.parametrize(
    ("name", "least", "most", "limit"),
    [
        pytest.param("specsdm91", 28, 36, "unknown", id="Gunther's SPEC SDM91"),
        pytest.param("cisco", 10, 14, "unknown", id="Schwartz's Cisco: bends from 10, N* by its lines 13.5"),
        pytest.param("myrocks-read-only", 36, 44, "unknown", id="sysbench on 24 cores"),
        pytest.param("soy-a", 27, 29, "queueing", id="ten holds of Locust, as a table"),
        pytest.param("soy-a-", 27, 29, "queueing", id="the same, as histories"),
        pytest.param("fast-failures", 130, 310, "errors", id="a ramp into fast failures, of noisy bins of a second"),
    ],
)
def test_the_knee_and_its_limit_agree_with_the_published_ones(name: str, least: float, most: float, limit: str) -> None:
    knee = knee_of(read(name))
    assert knee.kind == "knee"
    assert knee.users is not None
    assert least <= knee.users <= most
    assert knee.users_low is not None
    assert knee.users_high is not None
    assert knee.users_low < knee.users < knee.users_high
    assert knee.limit == limit


def test_a_published_plateau_has_no_peak() -> None:
    for name in ("cisco", "myrocks-read-only", "soy-a"):
        assert knee_of(read(name)).peak is None, name


def test_flask_flattens_from_18_and_has_no_knee_by_24_despite_constant_failures() -> None:
    knee = knee_of(read("flask-constant-errors"))
    assert (knee.kind, knee.users, knee.evidence.top_users) == ("no_knee", 18, 24)


def test_goodput_collapses_while_fast_failures_push_rps_up() -> None:
    peak = knee_of(read("fast-failures")).peak
    assert peak is not None
    assert peak.shape == "collapse"
    assert 220 <= peak.users <= 300


def test_latency_first_has_no_throughput_knee_up_to_200_but_latency_rises_before() -> None:
    verdict = read("latency-first")
    knee = knee_of(verdict)
    assert knee.kind == "no_knee"
    assert knee.users == pytest.approx(173, abs=1)
    assert knee.evidence.top_users == 200
    assert verdict.latency_knee is not None
    assert verdict.latency_knee.users is not None
    assert 150 <= verdict.latency_knee.users <= 200

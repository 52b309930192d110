"""Failures that begin in the middle of a level are a fault in time; failures that come and go with load are caused by load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from kit.scenario import Scenario

from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.figures import LevelEndpoint

from ..loads import Load, closed_session
from .regime_sessions import CLIMB, FALLEN, clean, failing, regimes, session, verdict_of

Levels = Sequence[tuple[int, list[tuple[int, int]]]]

NOISY = [(rate, 0) for rate in (80, 50, 75, 45, 80, 50, 78, 52, 70)]
REFUSED = [30, 36, 40, 46, 50, 56, 60, 66, 70, 76, 80]
WAVE = [(120, failures) for failures in (2, 9, 14, 6, 3, 18, 12, 7, 4)]
ONE, FAILED = (None, [8, 16, 24]), "failures"

CASES: dict[str, tuple[Levels, dict[str, Any], list[tuple[str | None, list[int]]], dict[str, Any]]] = {
    **{
        f"failures begin inside a short level, after {good} s": (
            [*CLIMB[:2], (24, clean(120, good) + failing(120, 9 - good)), (32, failing(160))], {},
            [ONE, (FAILED, [24, 32])], {"has_fault": True},
        )
        for good in range(2, 8)
    },
    "no reply in the last two seconds of a level": (
        [*CLIMB, (32, [*clean(160, 7), (0, 0), (0, 0)])], {}, [(None, [8, 16, 24, 32]), (FAILED, [32])], {"has_fault": True},
    ),
    "failures of users of the step": (
        [*CLIMB, (32, failing(144))], {}, [ONE, (FAILED, [32])], {"has_fault": False, "is_undecided": True},
    ),
    "a first second with a few failures, before most requests fail": (
        [*CLIMB[:2], (24, [(120, 7), (120, 0), *[(120, 60)] * 7])], {}, [ONE, (FAILED, [24])], {},
    ),
    "failures that began with a step and continue at a load without failures before": (
        [*CLIMB, (32, failing(160)), (8, failing(40))], {}, [ONE, (FAILED, [32, 8])], {"knee": "no_knee"},
    ),
    **{
        f"{why} comes and goes with load": (
            [*CLIMB, (32, fallen), (16, clean(80))], {}, [(None, [8, 16, 24, 32, 16])], {"knee": "knee"},
        )
        for why, fallen in FALLEN.items()
    },
    "users who keep their places in time are refused in another share at the same load": (  # recorded: 5 slots without a queue
        [(3, clean(6)), (6, clean(12)), (12, [(25, 9)] * 9), (6, clean(12)), (13, [(26, 3)] * 9), (3, clean(6))],
        {"equal_waits": True}, [(None, [3, 6, 12, 6, 13, 3])], {"has_fault": False},
    ),
    "a fault ends at the load at which it began": (
        [(3, clean(6)), (6, clean(12)), (12, [(25, 20)] * 9), (6, clean(12)), (13, [(26, 3)] * 9), (3, clean(6))],
        {"equal_waits": True}, [(None, [3, 6, 6, 13, 3]), (FAILED, [12])], {},
    ),
    "a return to half of few users does not decide": (
        [(4, clean(20)), (8, clean(40)), (13, failing(60)), (17, failing(80)), (4, clean(20))], {},
        [(None, [4, 8, 4]), (FAILED, [13, 17])], {},
    ),
    "failures that do not recur at the same number of users": (
        [*CLIMB, (32, failing(160)), (16, clean(80)), (32, clean(160))], {},
        [(None, [8, 16, 24, 16, 32]), (FAILED, [32])], {"inside": True},
    ),
    "a fault, then more goodput of another service": (
        [*CLIMB[:2], (24, [(110, 40)] * 9), (28, clean(190)), (32, clean(215))], {},
        [(None, [8, 16, 24]), ("goodput", [28, 32])], {},
    ),
    "failures after a level within two standard errors of the low-load line": (
        [(8, clean(40)), (12, clean(60)), (16, NOISY), (24, [(100, 60)] * 9), (30, [(120, 72)] * 9), (8, [(40, 24)] * 9)], {},
        [(None, [8, 12, 16]), (FAILED, [24, 30, 8])], {"has_fault": True},
    ),
    "a fault that passes inside a level": (
        [CLIMB[0], (16, clean(80, 3) + failing(80, 4) + clean(80, 4)), CLIMB[2]], {},
        [(None, [8, 16, 16, 24]), (FAILED, [16])], {},
    ),
    "seconds without any response": (
        [*CLIMB[:2], (24, clean(120, 4) + [(0, 0)] * 5), (32, [(0, 0)] * 9)], {}, [ONE, (FAILED, [24, 32])], {},
    ),
    "refusals that vary at the limit": ([*CLIMB[:2], (24, WAVE)], {}, [ONE], {}),
    "failures that began with a step and continue after a step down": (
        [*CLIMB, (32, failing(160)), (16, failing(80))], {}, [ONE, (FAILED, [32, 16])], {"inside": True},
    ),
    "failures late in a level on the line": (
        [*CLIMB, (64, [*clean(320, 6), *failing(320, 6)])], {}, [(None, [8, 16, 24, 64]), (FAILED, [64])], {"inside": True},
    ),
    "refusals of a full service, whose share grows with load": (
        [*CLIMB, *((users, [(200, round(200 - 4000 / users))] * 9) for users in REFUSED)], {},
        [(None, [8, 16, 24, *REFUSED])], {"has_fault": False},
    ),
    "failures in the first seconds after a step": (
        [*CLIMB, (32, [*failing(160, 4), *clean(160, 12)])], {}, [(None, [8, 16, 24, 32])], {},
    ),
}  # fmt: skip
"""(levels, more of the session, regimes, what else holds)."""


@pytest.mark.parametrize("name", CASES)
def test_the_regimes_of_a_session_are_these(name: str) -> None:
    levels, more, expected, holds = CASES[name]
    epoch = epoch_of(session(*levels, **more), 0)
    assert regimes(epoch) == expected
    knee = epoch.verdict.capacity.knee if epoch.verdict is not None else None
    others = [each for each in epoch.regimes if each is not epoch.regimes[-1]]
    found = {
        "has_fault": epoch.has_fault,
        "is_undecided": epoch.is_undecided,
        "inside": epoch.regimes[-1].began_without_load(others),
        "knee": knee and knee.kind,
    }
    assert {key: found[key] for key in holds} == holds
    if holds.get("knee") == "knee":
        assert knee is not None
        assert 24 * 0.98 < (knee.users or 0.0) < 32


def test_a_return_to_a_third_of_the_users_does_not_decide_whether_load_caused_failures() -> None:
    epoch = epoch_of(session(*CLIMB, (32, FALLEN["failing"]), (8, clean(40))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[8, 16, 24, 8], [32]]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "no_knee"


@pytest.mark.parametrize("fallen", FALLEN)
def test_the_next_step_after_a_fall_is_a_return_to_the_most_users_that_were_served_well(fallen: str) -> None:
    capacity = verdict_of(session(*CLIMB, (32, FALLEN[fallen]))).capacity
    assert capacity.knee is not None
    assert capacity.knee.kind == "no_knee"
    assert (capacity.missing[0].kind, capacity.missing[0].users_below) == ("return_to_clean", 24)


@pytest.mark.parametrize(
    ("last", "began", "first"),
    [([*clean(90, 6), *[(90, 90)] * 6], [None, "failures"], None), ([(90, 20)] * 12, [], ("/a", 36))],
    ids=["it begins to fail inside a level", "it fails at all seconds of the highest level"],
)
def test_an_endpoint_that_fails_is_the_first_to_degrade_unless_it_is_a_fault(
    last: list[tuple[int, int]], began: list[str | None], first: tuple[str, float] | None
) -> None:
    climb = [(users, clean(round(2.5 * users))) for users in (4, 8, 16, 24)]
    found = verdict_of(session(*climb, (36, last), endpoints=("/a", "/b")))
    assert [regime.began for regime in found.regimes] == began
    assert (found.first_endpoint and (found.first_endpoint.name, found.first_endpoint.users)) == first


def test_a_level_during_which_the_service_changed_is_one_of_both_regimes() -> None:
    timeline = session(*CLIMB, (32, [*clean(160, 6), *failing(160, 6)]), (32, failing(160)))
    assert [regime.levels for regime in verdict_of(timeline).regimes] == [(0, 1, 2, 3), (3, 4)]


@pytest.mark.parametrize(("wait_s", "is_faster"), [(0.165, False), (0.235, True)])
def test_goodput_a_user_that_grows_as_their_pauses_shrink_shows_no_faster_service(wait_s: float, is_faster: bool) -> None:
    """Recorded: 12 and 24 users who ask every 0.1 s whether a job of 0.17 s is done; four workers do 23.5 jobs/s."""
    loads = [(6, 25.5, 0.235), (12, 51.0, 0.235), (24, 143.6, wait_s)]
    polling = [Load(users, rate, 0.8, pause_s, figures={"think_s": pause_s}) for users, rate, pause_s in loads]
    assert len(epoch_of(closed_session(*polling), 0).regimes) == 1 + is_faster


@pytest.mark.parametrize(("size_bytes", "is_faster"), [(130.0, False), (620.0, True)])
def test_goodput_a_user_that_grows_as_replies_get_another_size_shows_no_faster_service(
    size_bytes: float, is_faster: bool
) -> None:
    """Error pages of 65 bytes with status 200 in 1 ms, in place of replies of 620 bytes in 30 ms: the users wait 36 ms."""
    scenario = Scenario().ready(program="server")
    for users, rate, size in ((3, 45.5, 620.0), (6, 91.0, 620.0), (12, 290.0, size_bytes)):
        requests = round(20 * rate)
        endpoint = LevelEndpoint(name="/work", method="GET", requests=requests, failures=0, mean_bytes=size)
        scenario.measured(users, Load(users, rate, 1000 * users / rate - 36).level(), lasts_s=23, endpoints=(endpoint,))
    assert len(epoch_of(scenario.timeline, 0).regimes) == 1 + is_faster

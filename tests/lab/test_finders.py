"""The benchmark of knee finders: its services, and when a knee is false."""

from __future__ import annotations

import json
import socket

import msgspec
import pytest

from lab.kit.servers import sleepers
from lab.trials.experiments.known import system
from lab.trials.knees import tools
from lab.trials.knees.exploration import AUTOPILOT, Exploration, autopilot, explored
from lab.trials.knees.finders import MAX_USERS, POLICIES, Steps, Window, usl_capacity
from lab.trials.knees.page import Totals
from lab.trials.knees.rates import burst, explored_by_rate, oversaturation
from lab.trials.knees.services import LiveService, Service, services
from lab.trials.knees.trial import LEVEL_S, RUNGS, ladder

EXPLORED = Exploration(
    finder="a finder", service="queue", seed=1, knees=(40.0,), load=42.0, low=35.0, high=45.0,
    capacity_rps=100.0, seconds=60.0, most_load=80.0, overload_s=10.0,
)  # fmt: skip


def service(name: str) -> Service:
    return next(each for each in services(1) if each.name == name)


def test_the_interval_of_the_autopilot_contains_the_knee_of_a_queue() -> None:
    found = autopilot([each for each in services(2) if each.name == "queue"][1])
    assert found.covered and not found.is_false


class WithoutLimit:
    """A service that answers any number of users in 100 ms: without noise, and so without the cost of a simulated one."""

    def __init__(self) -> None:
        self.now_s, self.load = 0.0, 0.0
        self.steps: Steps = []

    def step(self, load: float) -> None:
        self.load = load

    def watch(self, seconds: float) -> Window:
        self.now_s += seconds
        self.steps.append((self.load, seconds))
        return Window(self.load, seconds, [100.0] * round(self.load * seconds), failed=0)


@pytest.mark.parametrize("name", [name for name in POLICIES if "kneed" not in name])  # installed for benchmarks only
def test_no_finder_goes_beyond_its_users(name: str) -> None:
    found = explored(name, POLICIES[name], WithoutLimit(), "without limit", 1, knees=())
    assert 0 < found.most_load <= MAX_USERS


class Curve:
    """100 requests a second at most, 100 ms each, users that think for 300 ms: N* is 40. Without noise."""

    def __init__(self) -> None:
        self.now_s, self._users = 0.0, 0.0
        self.steps: Steps = []

    def step(self, load: float) -> None:
        self._users = load

    def watch(self, seconds: float) -> Window:
        self.now_s += seconds
        self.steps.append((self._users, seconds))
        took_ms = max(100.0, 10.0 * self._users - 300.0)
        return Window(self._users, seconds, [took_ms] * round(min(2.5 * self._users, 100.0) * seconds), failed=0)


@pytest.mark.parametrize(
    ("name", "load", "low", "high"),
    [
        ("PreScale (survives)", 30, 30, 30),  # 50 users have 200 ms, twice the 100 ms of one: that is the wall
        ("PreScale (saturation)", 50, None, None),  # 30 users have 75% of the peak
        ("aiperf (adaptive_scale)", 41, 41, 51),  # 1, 21, 41, 51 users, by margins of 50%, 50% and 45%
        ("brk", 50, 50, 55),
        ("k6 (breakpoint ramp)", 51, None, None),
        ("vayu (+25%)", 48, None, None),  # 38, 48, 60 users: 95, 100, 100/s
        ("Nighthawk (bisection)", 50, None, None),  # 64, 48, 56, 52, 50 users
        ("stair-step by hand", 40, None, None),
    ],
)
def test_each_policy_on_a_curve_without_noise(name: str, load: float, low: float | None, high: float | None) -> None:
    found = POLICIES[name](Curve())
    assert (found.load, found.low, found.high) == (load, low, high)


def test_the_universal_scalability_law_is_found_again_and_puts_a_sharp_knee_too_high() -> None:
    def step(users: float) -> Window:
        goodput_rps = 10 * users / (1 + 0.02 * (users - 1) + 0.001 * users * (users - 1))
        return Window(users, 1_000, [1.0] * round(1_000 * goodput_rps), failed=0)

    found = usl_capacity([step(10.0 * number) for number in range(1, 11)])
    assert found is not None and found.load is not None
    assert found.load == pytest.approx(31.3 * 0.868, rel=0.02)  # the peak is at sqrt((1 - 0.02) / 0.001); 99% of it, a bit below
    sharp = POLICIES["pepe (USL fit)"](Curve())
    assert sharp.load is not None and 1.25 < sharp.load / 40 < 1.75


class OpenCurve:
    """50 requests a second, 4 at a time for 80 ms each; with more than 100/s offered it serves 60. Without noise."""

    def __init__(self) -> None:
        self.now_s = self._rate = self._waiting = 0.0
        self.steps: Steps = []

    @property
    def in_flight(self) -> int:
        return round(self._waiting)

    def step(self, load: float) -> None:
        self._rate = load

    def watch(self, seconds: float) -> Window:
        self.now_s += seconds
        self.steps.append((self._rate, seconds))
        offered, capacity = self._rate * seconds + self._waiting, (60 if self._rate > 100 else 40) * seconds
        took_ms = 80 + 1_000 * self._waiting * seconds / capacity
        self._waiting = min(max(0.0, offered - capacity), 512.0)
        return Window(self._rate, seconds, [took_ms] * round(min(offered, capacity)), failed=0)


def test_a_burst_is_answered_at_the_rate_at_which_it_drains() -> None:
    assert burst(OpenCurve()).load == 40


def test_the_first_rate_at_which_requests_in_flight_and_response_times_grow_is_oversaturated() -> None:
    found = oversaturation(OpenCurve())
    rates = [12.5 + number * (60 - 12.5) / 8 for number in range(1, 9)]
    assert [found.load, found.low, found.high] == pytest.approx([rates[3], rates[3], rates[4]])  # 36.25 and 42.2 of 40/s


def test_at_rates_the_autopilot_finds_the_capacity_of_a_queue() -> None:
    found = explored_by_rate(service("queue"))[0]
    assert found.finder == AUTOPILOT and not found.is_false
    assert found.load == pytest.approx(found.knees[0], rel=0.1)


@pytest.mark.parametrize(
    ("load", "knees", "is_false"),
    [(42.0, (40.0,), False), (60.0, (40.0,), True), (60.0, (40.0, 62.0), False), (60.0, (), True), (None, (), False)],
)
def test_a_false_knee_is_one_that_the_service_never_had(load: float | None, knees: tuple[float, ...], is_false: bool) -> None:
    assert msgspec.structs.replace(EXPLORED, load=load, knees=knees).is_false == is_false


def test_a_missed_knee_counts_as_far_from_the_truth() -> None:
    found = Totals("a finder", [EXPLORED, msgspec.structs.replace(EXPLORED, load=None, low=None, high=None)])
    assert (found.near_ratio, found.covered_ratio, found.intervals) == (0.5, 1.0, 1)


def test_a_ladder_of_the_corpus_has_every_second_of_every_level() -> None:
    moving = ladder(service("queue, capacity halves"))
    assert len(moving["levels"]) == len(RUNGS) and len(moving["knees"]) == 2
    assert all(len(level[column]) == LEVEL_S for level in moving["levels"] for column in ("goodput", "failures", "mean_ms"))


def test_workers_that_sleep_answer_pipelined_requests_as_those_of_brk() -> None:
    request = b"GET /work HTTP/1.1\r\nHost: a\r\n\r\n"
    with sleepers(2, 1) as (port, _), socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request * 2 + request[:-2])
        connection.sendall(request[-2:])
        replies = b""
        while replies.count(b"slept_ms") < 3:
            assert (received := connection.recv(4_096))
            replies += received
        assert replies.count(b"HTTP/1.1 200") == 3


def test_the_answers_of_the_installed_tools_are_read_from_what_they_print(monkeypatch: pytest.MonkeyPatch) -> None:
    live = LiveService(system("four-workers"))
    verdict = {"survives_users": 75, "onset_users": 100, "saturated": True, "saturation_users": 20}
    run = {
        "config": {"stage_seconds": 5.0},
        "verdict": verdict | {"confidence": {"survives_low": 50, "survives_high": 75}},
        "stages": [{"users": users} for users in (20, 75, 100)],
    }
    monkeypatch.setattr(tools, "_printed", lambda *command: f"{json.dumps(run)}\n")
    survives, saturation = tools.prescale(live, "http://127.0.0.1:1/work", 0)
    assert (survives.load, survives.low, survives.high, survives.overload_s) == (75, 50, 75, 10)  # N* is 24
    assert (saturation.load, saturation.low) == (20, None)

    phases = "  Done (1 concurrent requests)\n  Done (2 concurrent requests)\n"
    monkeypatch.setattr(tools, "_printed", lambda *command: f"{phases}Broken (3 concurrent requests): the phase exceeded")
    (found,) = tools.brk(live, "http://127.0.0.1:1/work", 0)
    assert (found.load, found.low, found.high, found.knees, found.most_load) == (2, 2, 3, (4.0,), 3)
    monkeypatch.setattr(tools, "_printed", lambda *command: phases)
    assert tools.brk(live, "http://127.0.0.1:1/work", 0)[0].load is None, "a client that fails names no limit"

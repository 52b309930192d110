"""The sample of a tick: what users did, their work, and the requests that are kept whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from capexplorer.load.engine import Drained
from capexplorer.load.lag import Lag
from capexplorer.load.recorder import SUMMED, RecordedTick
from capexplorer.model.events import (
    ClientTick,
    EndpointTick,
    FailureSignature,
    FailureTick,
    Sample,
)
from capexplorer.model.kept_request import (
    EVEN_MOST,
    FAILURES_MOST,
    SLOWEST_MOST,
    KeptRequest,
    Place,
    PlacedRequest,
    RequestBrief,
    Why,
)
from capexplorer.model.load import OfferedTick, Users
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TcpReading, WorkersReading
from capexplorer.profile import Work
from capexplorer.read.probes import Readings
from capexplorer.run.live_levels import LiveLevels
from capexplorer.run.pump import Pump
from capexplorer.run.sampling import FinishedWork, RequestStore, TickSampler, WorkMeter

from .bare_context import bare_context, requested_load

DONE = EndpointTick(name="/done", requests=8, failures=1, warmup_requests=3, warmup_failures=1)
POLL = EndpointTick(name="/poll", requests=5)
TICK = RecordedTick(t_s=100.0, duration_s=1.2, users=9, endpoints=(DONE, POLL), connects=4, p50_ms=10.0, max_ms=500.0)
READINGS = Readings(
    generator=GeneratorReading(cpu_ratio=0.5, screen_cpu_ratio=0.1),
    targets=(),
    host=HostReading(),
    neighbours=NeighboursReading(cpu_ratio=0.3),
    ports=PortsReading(),
    tcp=TcpReading(),
    app=None,
)


def test_work_is_the_successful_requests_if_no_metric_is_named() -> None:
    found = WorkMeter(Work(), is_limited=False).read(TICK, {"finished": 99.0})
    assert found == FinishedWork(work=12.0, warmup_work=2.0)


def test_work_is_the_successful_requests_of_the_endpoints_that_count() -> None:
    found = WorkMeter(Work(endpoints=("GET /done",)), is_limited=False).read(TICK, None)
    assert found == FinishedWork(work=7.0, warmup_work=2.0)


def test_under_limits_on_a_single_request_work_is_those_that_meet_them() -> None:
    late = msgspec.structs.replace(DONE, within_limits=4, beyond_total=3, warmup_beyond_limits=1)
    tick = msgspec.structs.replace(TICK, endpoints=(late, msgspec.structs.replace(POLL, within_limits=5)))
    assert WorkMeter(Work(), is_limited=True).read(tick, None) == FinishedWork(9.0, work_beyond_limits=3.0, warmup_work=1.0)


def test_under_limits_the_work_of_plain_locust_workers_is_not_known() -> None:
    assert WorkMeter(Work(), is_limited=True).read(TICK, None).work is None


def test_the_work_of_a_metric_is_its_increase() -> None:
    meter = WorkMeter(Work(metric="finished"), is_limited=False)
    read = [meter.read(TICK, {"finished": value})[0] for value in (100.0, 105.0, 105.0, 112.5)]
    assert read == [None, 5.0, 0.0, 7.5]


@pytest.mark.parametrize("gap", [None, {}, {"other": 1.0}])
def test_if_a_metric_cannot_be_read_work_is_unknown_in_this_tick_and_the_next(gap: dict[str, float] | None) -> None:
    meter = WorkMeter(Work(metric="finished"), is_limited=False)
    apps: list[dict[str, float] | None] = [{"finished": 1.0}, {"finished": 2.0}, gap, {"finished": 9.0}, {"finished": 10.0}]
    assert [meter.read(TICK, app)[0] for app in apps] == [None, 1.0, None, None, 1.0]


def test_a_counter_that_decreased_counts_from_its_new_value() -> None:
    meter = WorkMeter(Work(metric="finished"), is_limited=False)
    read = [meter.read(TICK, {"finished": value})[0] for value in (50.0, 60.0, 3.0, 5.0)]
    assert read == [None, 10.0, None, 2.0]


class _Measured:
    """Everything that a sampler asks, without a run: the load, the probes, the parts and the pump."""

    here, boundary_s = (), 100.0

    def __init__(self, drained: Drained) -> None:
        self._drained = drained
        self.lag = SimpleNamespace(drain=lambda: Lag(1.0, 2.0, 3.0))
        self.thread_id = self.native_id = None

    def drain(self, boundary_s: float) -> Drained:
        return self._drained

    def now_s(self) -> float:
        return -60.0

    def at_s(self, at_s: float) -> float:
        return at_s - 94.5

    def read(self, *_: object, **given: object) -> object:
        return READINGS if given else ()

    def take_unusable(self) -> list[str]:
        return []

    def add(self, kept: object) -> None: ...


def sample_of(drained: Drained) -> Sample:
    """The sample of a tick from 4.0 to 5.5 s, at a level of 10 users that has been settled for long."""
    measured: Any = _Measured(drained)
    context, load = bare_context(measured), requested_load(Users(10), is_open=True)
    levels = LiveLevels(context, load)
    levels.step(Users(10), "user", 10.0)
    levels.spawned(-60.0)
    return TickSampler(context, measured, load, levels, measured, measured, measured).sample(4.0, 5.5)


def test_a_sample_has_all_that_users_did_its_work_and_the_lag_of_their_loop() -> None:
    sample = sample_of(Drained(TICK))
    assert (sample.t_s, sample.duration_s, sample.users, sample.wanted, sample.level) == (5.5, 1.5, 9, 10, 0)
    assert (sample.endpoints, sample.connects, sample.p50_ms, sample.max_ms) == ((DONE, POLL), 4, 10.0, 500.0)
    assert (sample.work, sample.warmup_work) == (12.0, 2.0)
    assert sample.generator == GeneratorReading(
        cpu_ratio=0.5, screen_cpu_ratio=0.1, loop_lag_p50_ms=1.0, loop_lag_p99_ms=2.0, loop_lag_max_ms=3.0
    )
    assert sample.neighbours == READINGS.neighbours


def test_every_field_of_a_tick_is_in_its_sample() -> None:
    """So a counter that is declared in `Tick` and counted reaches the log."""
    given = {
        "failures": (FailureTick(name="/done", method="GET", signature=FailureSignature(types=("X",)), count=1),),
        "retried": (FailureTick(name="/done", method="GET", signature=FailureSignature(types=("Y",)), count=1),),
        "clients": ClientTick(started=3), "offered": OfferedTick(planned=3),
    }  # fmt: skip
    given |= {name: 7 for name in SUMMED if name not in ("work", "warmup_work", "work_beyond_limits", "all_latency_sum_ms")}
    sample = sample_of(Drained(msgspec.structs.replace(TICK, **given)))
    assert {name: getattr(sample, name) for name in given} == given


@pytest.mark.parametrize(("is_whole", "duration_s"), [(True, 1.0), (False, 1.5)])
def test_with_workers_a_sample_has_their_second_and_the_readings_of_the_busiest(is_whole: bool, duration_s: float) -> None:
    fullest = GeneratorReading(cpu_ratio=0.9, loop_lag_p99_ms=7.0)
    workers = WorkersReading(count=2, fullest="1")
    sample = sample_of(Drained(TICK, is_whole, generator=fullest, workers=workers))
    assert (sample.duration_s, sample.users, sample.workers) == (duration_s, 9, workers)
    assert sample.generator == GeneratorReading(cpu_ratio=0.9, loop_lag_p99_ms=7.0, screen_cpu_ratio=0.1)


def placed_request(why: Why, key: str, t_s: float, ms: float = 1.0, worker: str = "") -> PlacedRequest:
    """A request that was kept for the reason `why`, in the place `key` of that reason."""
    brief = RequestBrief(why=why, t_s=1_000 + t_s, method="GET", name="/a", response_ms=ms)
    return PlacedRequest(Place(why, key), KeptRequest(brief=brief, worker=worker))


def store_with(*requests: PlacedRequest) -> RequestStore:
    """A store with these requests."""
    store = RequestStore(cast(Pump, SimpleNamespace(at_s=lambda monotonic_s: monotonic_s - 1_000)))
    store.add(requests)
    return store


def reasons_and_times(requests: RequestStore) -> list[tuple[Why, float]]:
    """The reason and the time of each request of the store, in order."""
    return [(brief.why, brief.t_s) for brief in requests.briefs()]


def test_requests_have_times_of_the_session_and_are_found_by_number() -> None:
    requests = store_with(placed_request("first", "x", 5.0), placed_request("last", "x", 7.0))
    assert reasons_and_times(requests) == [("first", 5.0), ("last", 7.0)]
    first, last = (requests.request(brief.number) for brief in requests.briefs())
    assert first is not None
    assert last is not None
    assert first != last
    assert requests.request(99) is None


def test_the_earliest_first_and_the_latest_last_failure_of_several_workers_are_kept() -> None:
    requests = store_with(
        placed_request("first", "x", 5.0),
        placed_request("first", "x", 3.0),
        placed_request("last", "x", 9.0),
        placed_request("last", "x", 8.0),
    )
    assert reasons_and_times(requests) == [("first", 3.0), ("last", 9.0)]


def test_a_later_first_failure_of_another_worker_is_kept_as_the_last_one() -> None:
    assert reasons_and_times(store_with(placed_request("first", "x", 5.0), placed_request("first", "x", 6.0))) == [
        ("first", 5.0),
        ("last", 6.0),
    ]


def test_the_slower_of_two_slowest_requests_is_kept() -> None:
    assert reasons_and_times(
        store_with(placed_request("slowest", "0 GET /a", 1.0, 20), placed_request("slowest", "0 GET /a", 2.0, 10))
    ) == [("slowest", 1.0)]


@pytest.mark.parametrize(
    ("why", "most", "first_s"), [("first", FAILURES_MOST, 0), ("even", EVEN_MOST, 0), ("slowest", SLOWEST_MOST, 100)]
)
def test_the_number_of_kept_requests_is_limited_and_the_oldest_of_the_slowest_are_removed(
    why: Why, most: int, first_s: float
) -> None:
    requests = store_with(*(placed_request(why, str(number), float(number)) for number in range(most + 100)))
    assert len(requests.briefs()) == most
    assert requests.briefs()[0].t_s == first_s

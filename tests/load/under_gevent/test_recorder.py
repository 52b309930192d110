"""From request events to a tick: which requests count, which are warm-up, and which are finished work."""

from __future__ import annotations

import math
import time
from _queue import SimpleQueue
from enum import IntEnum
from typing import Any

import gevent
import msgspec
import pytest
from gevent.pool import Group
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.load import native
from capexplorer.load.bounded_keys import TEXTS
from capexplorer.load.kept_requests import RequestSampling
from capexplorer.load.lag import PERIOD_S, Lag, LagMeter
from capexplorer.load.recorder import Recorder
from capexplorer.load.user_activity import MetricNames, UserActivity, of_this_user, turn
from capexplorer.load.user_code import UserErrors
from capexplorer.model import outside
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.stages import RequestLimits
from capexplorer.session.redact_request import without_secrets


def _user(recorder: Recorder, group: Group, cycles: list[list[float]]) -> None:
    """A user that makes these requests (ms), a wait after each cycle."""

    def live() -> None:
        for cycle in cycles:
            for response_ms in cycle:
                recorder.on_request("GET", "/a", response_ms, 10)
            recorder.activity.on_wait(0.5)

    group.spawn(live)


def _next_lag(meter: LagMeter) -> Lag:
    """The lag once the meter's timer has fired (within 20 s)."""
    with gevent.Timeout(20):
        while True:
            gevent.sleep(0.001)
            if (lag := meter.drain()).max_ms is not None:
                return lag


def test_on_start_and_the_first_cycle_are_warm_up_until_the_user_waits() -> None:
    group = Group()
    recorder = Recorder(UserActivity(lambda: group))
    _user(recorder, group, [[100.0, 200.0], [10.0], [20.0]])  # two requests of on_start and the first cycle
    group.join()
    tick = recorder.drain(0.0, 0)
    assert tick.endpoints[0].requests == 2
    assert tick.endpoints[0].warmup_requests == 2
    assert tick.endpoints[0].latency_sum_ms == 30.0
    assert tick.endpoints[0].received_bytes == 20
    assert tick.waits == 3
    assert tick.wait_sum_s == 1.5
    assert tick.all_requests == 4
    assert tick.all_latency_sum_ms == 330.0
    assert LatencyHistogram.decode(tick.endpoints[0].latency or "").max_ms == pytest.approx(20.0, rel=0.001)


def test_requests_of_greenlets_that_a_user_spawned_are_not_warm_up() -> None:
    group = Group()
    recorder = Recorder(UserActivity(lambda: group))

    def live() -> None:
        recorder.activity.on_wait(0.0)
        gevent.spawn(recorder.on_request, "GET", "/a", 1.0, 1).join()

    group.spawn(live)
    group.join()
    endpoint = recorder.drain(0.0, 0).endpoints[0]
    assert endpoint.requests == 1
    assert endpoint.warmup_requests == 0


def test_a_drain_takes_everything_once_and_its_totals_agree() -> None:
    recorder = Recorder()
    for n in range(1, 1001):
        recorder.on_request("GET", f"/{n % 3}", float(n), 5)
    for _ in range(10):
        recorder.on_request("GET", "/0", 50.0, 0, ConnectionResetError(104, "reset"))
    tick, empty = recorder.drain(0.0, 0), recorder.drain(0.0, 0)
    merged = LatencyHistogram()
    for endpoint in tick.endpoints:
        merged.add(LatencyHistogram.decode(endpoint.latency or ""))
    assert [endpoint.name for endpoint in tick.endpoints] == ["/0", "/1", "/2"]
    assert sum(endpoint.requests for endpoint in tick.endpoints) == 1010
    assert [[failure.name, failure.count, failure.signature.errno] for failure in tick.failures] == [["/0", 10, 104]]
    assert tick.endpoints[0].failure_latency_sum_ms == 500.0
    assert sum(endpoint.latency_sum_ms for endpoint in tick.endpoints) == 500500.0
    assert merged.count == 1000
    assert (tick.p50_ms, tick.p95_ms, tick.p99_ms) == merged.percentiles_ms((0.50, 0.95, 0.99))
    assert tick.max_ms == 1000.0
    assert [len(empty.endpoints), empty.all_requests, empty.p50_ms, empty.max_ms] == [0, 0, None, None]


def test_successes_are_counted_by_the_limits_on_a_single_request_that_they_exceed() -> None:
    recorder = Recorder(limits=RequestLimits(ttft_ms=5.0, total_ms=100.0))
    for took_ms in (50.0, 100.0, 100.5, 300.0):
        recorder.on_request("GET", "/a", took_ms, 5)
    recorder.on_request("GET", "/a", 300.0, 0, ConnectionResetError(104, "reset"))
    found = recorder.drain(0.0, 0).endpoints[0]
    assert (found.requests, found.failures, found.within_limits) == (5, 1, 2)
    assert (found.beyond_ttft, found.beyond_tpot, found.beyond_total) == (0, 0, 2)


def test_without_limits_it_is_not_said_how_many_meet_them() -> None:
    recorder = Recorder()
    recorder.on_request("GET", "/a", 50.0, 5)
    assert recorder.drain(0.0, 0).endpoints[0].within_limits is None


def test_beyond_the_limit_kinds_of_failure_are_merged_and_all_are_counted() -> None:
    recorder = Recorder()
    for n in range(200):
        recorder.on_request("GET", "/a", 1.0, 0, ValueError(f"kind {chr(97 + n % 26)}{chr(97 + n // 26)}"))
    first = recorder.drain(0.0, 0)
    recorder.drain_all()
    rest = recorder.drain(0.0, 0)
    both = first.failures + rest.failures
    assert sum(each.failures for each in first.endpoints) == sum(each.count for each in both) == 200
    assert 0 < len(first.failures) < 20
    assert len({each.signature for each in both}) == TEXTS + 1


def test_custom_events_with_unexpected_values_are_recorded_as_text() -> None:
    """Events that user code fires with unexpected types."""
    recorder = Recorder()
    recorder.on_request("WS", 17, None, None)  # type: ignore[arg-type]
    recorder.on_request(None, "x", 0.0, 3)
    recorder.on_request("GET", "/a", -5.0, 3, context={}, url="http://x")
    ticks = recorder.drain(0.0, 0).endpoints
    found = [(each.method, each.name, each.requests, each.clamped) for each in ticks]
    assert found == [("", "x", 1, 1), ("GET", "/a", 1, 1), ("WS", "17", 1, 1)]


def _as_client(recorder: Recorder, *args: Any) -> None:
    """Fires a request as a client of Locust does: by code of its module."""
    names = {"__name__": "locust.clients", "fire": lambda: recorder.on_request(*args)}
    exec("fire()", names)


class Named:
    """A recorder, and the events of a user who asks for a reply and says how long its first byte took."""

    def __init__(self, *named: str) -> None:
        self.recorder = Recorder()
        self.recorder.metrics = MetricNames(named)

    def iteration(self, *, fires: bool, error: Exception | None = None) -> None:
        """In the greenlet of a user."""
        of_this_user().task_begins(turn())
        gevent.sleep(0.002)
        _as_client(self.recorder, "GET", "/chat", 20.0, 100)
        if fires:
            self.recorder.on_request("METRIC", "ttft", 7.0, 0, error)
            self.recorder.on_request("METRIC", "tokens", 0, 37)


def test_a_second_with_metrics_has_the_requests_of_one_without() -> None:
    """Throughput, goodput, the knee and Little's law are made of these."""
    with_metrics, without = Named(), Named()

    def live() -> None:
        for number in range(10):
            with_metrics.iteration(fires=True, error=ValueError("too slow") if number == 0 else None)
            without.iteration(fires=False)

    gevent.spawn(live).join()
    found, plain = (each.recorder.drain(0.0, 1) for each in (with_metrics, without))
    alike = {name: getattr(plain, name) for name in ("duration_s", "clients")}
    assert msgspec.structs.replace(found, metrics=(), **alike) == plain
    assert [(each.name, each.requests, each.failures) for each in found.metrics] == [("tokens", 10, 0), ("ttft", 10, 1)]
    tokens, ttft = found.metrics
    assert (tokens.received_bytes, tokens.latency_sum_ms) == (370, 0.0)
    assert LatencyHistogram.decode(ttft.latency or "").max_ms == pytest.approx(7.0, rel=0.001)


def test_metrics_that_are_recognised_after_the_first_of_them_leave_no_request_behind() -> None:
    """A user's first event may precede its first request, which alone tells that it is none."""
    user = Named()

    def live() -> None:
        of_this_user().task_begins(turn())
        user.recorder.on_request("METRIC", "queued", 0, 3)
        user.iteration(fires=False)
        user.recorder.on_request("METRIC", "queued", 0, 4)

    gevent.spawn(live).join()
    tick = user.recorder.drain(0.0, 1)
    assert [(each.name, each.requests) for each in tick.endpoints] == [("/chat", 1)]
    assert [(each.name, each.received_bytes) for each in tick.metrics] == [("queued", 7)]


def test_names_of_the_profile_are_metrics_but_never_requests_of_a_client() -> None:
    user = Named("!METRIC ttft", "GET *", "GRPC *")

    def live() -> None:
        user.iteration(fires=True)
        gevent.sleep(0.002)
        user.recorder.on_request("GRPC", "call", 1.0, 0)

    gevent.spawn(live).join()
    tick = user.recorder.drain(0.0, 1)
    assert [each.name for each in tick.endpoints] == ["/chat", "ttft"]
    assert [each.name for each in tick.metrics] == ["call", "tokens"]


@pytest.mark.parametrize("took", [math.nan, math.inf, "soon"], ids=str)
def test_an_invalid_request_event_is_left_out_and_named(took: Any) -> None:
    """Infinite response times once ended the pump's thread."""
    errors = UserErrors()
    recorder = Recorder(errors=errors)
    for name, response_time in (("odd", took), ("well", 2.0)):
        recorder.on_request("X", name, response_time, 3)
    assert [endpoint.name for endpoint in recorder.drain(0.0, 0).endpoints] == ["well"]
    assert errors.waiting[0].text.startswith(f"request 'odd' took {took!r} ms, 3 bytes")


def test_lag_is_none_until_the_timer_has_run() -> None:
    meter = LagMeter(lambda: "")
    before = meter.drain()
    running = gevent.spawn(meter.run)
    gevent.sleep(30 * PERIOD_S)
    lag = meter.drain()
    running.kill()
    assert before.p50_ms is None
    assert lag.p50_ms is not None
    assert 0 <= lag.p50_ms <= (lag.p99_ms or 0) <= (lag.max_ms or 0)


def test_a_blocked_hub_counts_as_lag_while_it_is_blocked_and_after() -> None:
    """The largest lag that another thread reads while the hub is blocked, and the one that the late timer measures afterwards."""
    meter, answered = LagMeter(lambda: ""), SimpleQueue[float]()
    running = gevent.spawn(meter.run)
    _next_lag(meter)

    def ask() -> None:
        native.sleep(0.3)
        answered.put(meter.drain().max_ms or 0.0)

    native.start_thread(ask)
    deadline_s = time.perf_counter() + 20
    while answered.empty() and time.perf_counter() < deadline_s:
        native.sleep(0.01)
    after_ms = _next_lag(meter).max_ms or 0.0
    running.kill()
    assert answered.get() > 100
    assert after_ms > 100


# -- events with any values


class _Number(IntEnum):
    MANY = 24


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyError("no text")


class _Raising(Exception):
    @property
    def errno(self) -> int:
        raise KeyError("no number")


class _Textless:
    def __str__(self) -> str:
        raise KeyError("no text")


def _with(error: Exception, **attributes: Any) -> Exception:
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


_TEXTS = st.one_of(st.text(alphabet=st.characters(exclude_categories=())), st.just("\ud83d"), st.just("x" * 5_000))
_NUMBERS = st.one_of(
    st.none(), st.integers(), st.floats(), st.sampled_from([10**400, 2**70, -(2**70), 1e300, math.nan, _Number.MANY]), st.text()
)
_EXCEPTIONS = st.one_of(
    st.none(),
    _TEXTS,
    st.builds(ValueError, _TEXTS, _TEXTS),
    st.builds(OSError, st.integers(), _TEXTS),
    st.builds(lambda number, text: _with(ValueError(text), errno=number, code=number, response=text), _NUMBERS, _TEXTS),
    st.builds(_Unprintable),
    st.builds(_Raising),
)


@given(st.one_of(_TEXTS, st.builds(_Textless)), st.one_of(_TEXTS, st.none()), _NUMBERS, _NUMBERS, _EXCEPTIONS, _TEXTS)
def test_whatever_user_code_reports_of_a_request_can_be_written_and_sent_or_is_named_as_invalid(
    name: Any, method: Any, time_ms: Any, length: Any, exception: Any, url: str
) -> None:
    errors = UserErrors()
    recorder = Recorder(errors=errors, sampling=RequestSampling(without_secrets))
    recorder.on_request(method, name, time_ms, length, exception, start_time=None, url=url)
    tick = recorder.drain(0.0, 0)
    for each in (*tick.endpoints, *tick.failures, *(kept.request for kept in tick.kept)):
        msgspec.msgpack.encode(each)
        msgspec.json.encode(each)
        assert outside.struct(each) == (each, ())
    assert [each.type for each in errors.waiting] == ["InvalidRequestEvent"] * (1 - tick.all_requests)
    if isinstance(exception, Exception):
        errors.add(exception)
    for error in errors.waiting:
        f"{error.type}{error.text}{error.line}".encode()

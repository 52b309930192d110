"""Which function the stacks of two loads name: services of many shapes, and what must not be named."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pytest
from kit.scenario import Scenario
from kit.stacks import Sampled, session, stacks
from marked import marked

from capexplorer.analysis.stacks import Neighbour, StacksDifference, around, difference
from capexplorer.model.events import StacksSampled
from capexplorer.model.stacks import Clock, Runtime
from capexplorer.model.timeline import Timeline

WORKER = "run threading.py:9; worker pool.py:80"
Both = Mapping[str, tuple[float, float]]
"""Threads by stack: at the low load, and at the knee."""


class Shape(NamedTuple):
    """A service at a low load and at its knee, and what is to be named: (function, line, how), or why nothing is."""

    low: tuple[int, int, float]
    """Users, requests a second, latency in ms."""
    high: tuple[int, int, float]
    named: tuple[str, int, str] | str
    wall: Both = {}
    cpu: Both = {}
    blocked: Both = {}
    runtime: Runtime = "python"
    bottleneck: str = ""
    cores: float | None = None
    """What the service used at its knee."""

    @property
    def levels(self) -> tuple[Sampled, Sampled]:
        clocks: dict[Clock, Both] = {"wall": self.wall, "cpu": self.cpu, "blocked": self.blocked}
        first, second = (
            tuple(
                stacks(
                    {name: threads[index] for name, threads in both.items() if threads[index]}, clock=clock, runtime=self.runtime
                )
                for clock, both in clocks.items()
                if both
            )
            for index in (0, 1)
        )
        return Sampled(*self.low, first), Sampled(*self.high, second, self.cores)


LOCKED: Both = {f"{WORKER}; buy* shop.py:41": (0.1, 14.6), f"{WORKER}; buy* shop.py:42": (0.8, 1.0)}
POOL = "a pool of connections, below a library"

SHAPES: dict[str, Shape] = {
    "a lock, and 16 threads, most of them idle at low load": Shape(
        (2, 40, 25), (16, 50, 310), ("buy", 41, "grew"), {f"{WORKER}; get queue.py:5": (15, 0.2), **LOCKED}
    ),
    "a pool of threads that grows with the load, most of them idle": Shape(
        (2, 40, 25), (16, 50, 310), ("buy", 41, "grew"), {f"{WORKER}; get queue.py:5": (1, 60), **LOCKED}
    ),
    "an idle loop of its own, and a rate that falls": Shape(
        (2, 40, 25), (16, 20, 730), ("buy", 41, "grew"), {"watch* jobs.py:3; sleep time.py:1": (1, 1), **LOCKED}
    ),
    POOL: Shape(
        (2, 40, 50),
        (20, 80, 250),
        ("checkout", 41, "grew"),
        {
            "handle* app.py:9; checkout* db.py:41; acquire pool.py:7": (0.05, 16),
            "handle* app.py:9; query* db.py:60; recv socket.py:3": (1.9, 4),
        },
    ),
    "many queries for one request": Shape(
        (1, 5, 60),
        (16, 20, 700),
        ("lines", 8, "grew"),
        {"orders* app.py:5; lines* app.py:8; execute db.py:1": (0.28, 13.5), "orders* app.py:5; render tpl.py:3": (0.02, 0.1)},
    ),
    "two synchronous workers, all busy": Shape(
        (1, 12, 55),
        (16, 40, 400),
        ("fetch", 9, "busy"),
        {"serve sync.py:9; select select.py:1": (1.4, 0.01), "serve sync.py:9; fetch* db.py:9; recv socket.py:3": (0.6, 1.99)},
    ),
    "two workers that accept in a loop of their own, and a thread that only waits": Shape(
        (1, 9, 110),
        (12, 20, 610),
        ("fetch", 3, "busy"),
        {
            "worker* w.py:8": (1.21, 0.11),
            "worker* w.py:8; fetch* w.py:3": (0.79, 1.89),
            "main* w.py:11; wait threading.py:1": (3, 3),
        },
    ),
    "four workers that wait for work, and work, in one function": Shape(
        (1, 20, 52),
        (16, 78, 200),
        ("work", 47, "busy"),
        {"run threading.py:9; work* srv.py:46": (2.96, 0.02), "run threading.py:9; work* srv.py:47": (1.04, 3.98)},
    ),
    "workers that wait for work, and for a lock, in one function": Shape(
        (1, 20, 52),
        (16, 78, 200),
        ("work", 48, "grew"),
        {"work* srv.py:46": (14.0, 0.02), "work* srv.py:47": (0.9, 3.5), "work* srv.py:48": (0.1, 12.0)},
    ),
    "a thread for each connection, which waits for the interpreter wherever it is": Shape(
        (1, 8, 120),
        (12, 20, 560),
        "elsewhere",
        {
            f"{WORKER}; recv socket.py:3": (0.43, 6.6),
            f"{WORKER}; send* base.py:8": (0.33, 2.4),
            f"{WORKER}; render* pure.py:5": (0.2, 2.0),
            f"{WORKER}; parse server.py:9": (0.03, 0.0),
        },
    ),
    "the same, and the CPU time is known": Shape(
        (1, 8, 120),
        (12, 20, 560),
        ("render", 5, "cpu"),
        {
            f"{WORKER}; recv socket.py:3": (0.43, 6.6),
            f"{WORKER}; send* base.py:8": (0.33, 2.4),
            f"{WORKER}; render* pure.py:5": (0.2, 4.0),
        },
        {f"{WORKER}; render* pure.py:5": (0.2, 0.59), f"{WORKER}; send* base.py:8": (0.01, 0.02)},
    ),
    "an event loop that computes": Shape(
        (1, 20, 11),
        (32, 98, 320),
        ("render", 7, "busy"),
        {"run loop.py:5; select select.py:1": (0.8, 0.02), "run loop.py:5; render* page.py:7": (0.2, 0.98)},
    ),
    "an event loop whose coroutines wait for a pool": Shape(
        (1, 20, 50),
        (32, 100, 320),
        "elsewhere",
        {"run loop.py:5; select select.py:1": (0.95, 0.7), "run loop.py:5; pack* page.py:7": (0.05, 0.3)},
    ),
    "the interpreter lock: regular expressions in threads": Shape(
        (1, 20, 25),
        (16, 40, 400),
        ("match", 7, "cpu"),
        {
            f"{WORKER}; recv socket.py:3": (0.5, 10),
            f"{WORKER}; log* app.py:3": (0.01, 3),
            f"{WORKER}; match* re_app.py:7; search re.py:1": (0.5, 3),
        },
        {"match* re_app.py:7; search re.py:1": (0.5, 0.95), "log* app.py:3": (0.01, 0.03)},
    ),
    "workers of Go that wait for a channel": Shape(
        (2, 100, 10),
        (32, 200, 150),
        ("main.(*Pool).take", 31, "grew"),
        cpu={"main.work* main.go:50": (0.2, 0.4)},
        blocked={
            "main.(*Pool).take* main.go:31; runtime.chanrecv1 chan.go:1": (0.1, 28),
            "main.idle* main.go:80; runtime.selectgo select.go:2": (8, 8),
        },
        runtime="go",
    ),
    "a lock that spins": Shape(
        (1, 100, 5),
        (8, 120, 60),
        ("spin", 12, "grew"),
        cpu={"serve* srv.c:9; spin* lock.c:12": (0.01, 6.5), "serve* srv.c:9": (0.4, 0.6)},
        runtime="native",
    ),
    "a lock that spins, while others use the machine": Shape(
        (2, 19, 4.1),
        (12, 92, 25.8),
        ("take", 23, "grew"),
        cpu={"serve* srv.c:9; take* srv.c:23": (0.0, 0.27), "serve* srv.c:9; finish_task_switch": (0.001, 0.005)},
        runtime="native",
    ),
    "a lock that spins, beside work that is the same": Shape(
        (2, 19, 4.1),
        (12, 92, 25.8),
        "elsewhere",
        cpu={"serve* srv.c:9; take* srv.c:23": (0.0, 0.05), "serve* srv.c:9; pack* srv.c:30": (0.06, 0.27)},
        runtime="native",
    ),
    "a thread of Node that is full": Shape(
        (1, 20, 11),
        (32, 98, 320),
        ("sync", 17, "cpu"),
        cpu={"handle* app.js:4; sync* app.js:17": (0.2, 0.96), "(program)": (0.1, 0.03)},
        runtime="node",
    ),
    "processors that all are full": Shape(
        (1, 100, 5),
        (16, 440, 36),
        ("main.sum", 5, "cpu"),
        cpu={"main.sum* m.go:5": (0.4, 1.7), "runtime.scanobject gc.go:2": (0.1, 0.3)},
        runtime="go",
        bottleneck="target_cpu_saturated",
    ),
    "libuv's threads that compress, which have no stack": Shape(
        (2, 14, 26),
        (60, 96, 499),
        "elsewhere",
        {"handle* app.js:4; zip* app.js:34": (0.1, 9.5)},
        {"authenticate* app.js:8": (0.003, 0.023), "zip* app.js:33": (0.012, 0.003)},
        runtime="node",
        bottleneck="target_cpu_saturated",
        cores=1.9,
    ),
    "threads that compute, all of which have stacks": Shape(
        (2, 20, 2.6),
        (120, 838, 37),
        ("digest", 39, "cpu"),
        cpu={"digest* serve.c:39": (0.04, 1.7), "write write.c:26": (0.01, 0.02)},
        runtime="native",
        bottleneck="target_cpu_saturated",
        cores=1.74,
    ),
    "requests that wait before they reach the service": Shape(
        (2, 40, 25),
        (16, 50, 310),
        "elsewhere",
        {f"{WORKER}; get queue.py:5": (15, 14.7), f"{WORKER}; buy* shop.py:42": (1, 1.3)},
    ),
    "a service that became no slower": Shape((2, 40, 25), (4, 80, 25), "not_slower", {f"{WORKER}; buy* shop.py:42": (1, 2)}),
}


def found(shape: Shape) -> StacksDifference:
    made = session(*shape.levels)
    if shape.bottleneck:
        made.add(
            marked(
                kind="bottleneck",
                id=shape.bottleneck,
                key=shape.bottleneck,
                t_s=made.t_s,
                state="open",
                users=float(shape.high[0]),
            )
        )
    said = difference(made.timeline)
    assert said is not None
    return said


@pytest.mark.parametrize("name", SHAPES)
def test_the_function_that_is_named_is_the_cause(name: str) -> None:
    said = found(SHAPES[name])
    named = said.named and (said.named.function.frame.function, said.named.function.frame.line, said.named.how)
    assert (named or said.unnamed) == SHAPES[name].named


@pytest.mark.parametrize("name", SHAPES)
def test_times_are_those_of_the_requests(name: str) -> None:
    """Own times of all functions add up to the threads, divided by the rate."""
    shape = SHAPES[name]
    for clock in found(shape).clocks:
        threads: Both = {"wall": shape.wall, "cpu": shape.cpu, "blocked": shape.blocked}[clock.clock]
        for index, (_, rps, _) in enumerate((shape.low, shape.high)):
            count = sum(both[index] for both in threads.values())
            assert sum(each.threads[index] for each in clock.functions) == pytest.approx(count)
            assert sum((each.own.low_s, each.own.high_s)[index] for each in clock.functions) == pytest.approx(count / rps)
        assert all(each.total.high_s >= each.own.high_s - 1e-12 for each in clock.functions)


def test_growth_of_a_lock() -> None:
    """14.6 threads at 50 requests a second are 292 ms for each, 0.1 at 40 are 2.5 ms. Whether that is CPU time is not known."""
    named = found(SHAPES["a lock, and 16 threads, most of them idle at low load"]).named
    assert named is not None
    assert named.function.own.growth_s == pytest.approx(0.292 - 0.0025 + 0.02 - 0.02)
    assert (named.share_ratio, named.is_wait) == (1.0, None)
    waits = found(SHAPES["workers of Go that wait for a channel"]).named
    assert waits is not None
    assert (waits.is_wait, waits.function.calls) == (True, "runtime.chanrecv1")


def test_a_wait_is_told_from_cpu_time() -> None:
    def made(cpu: float) -> Shape:
        stack = "buy* shop.py:41"
        return Shape((2, 40, 25), (16, 50, 310), "", {stack: (1, 15)}, {stack: (0.1, cpu)}, runtime="jvm")

    waits, computes = found(made(0.12)).named, found(made(14.0)).named
    assert waits is not None and waits.is_wait is True
    assert computes is not None and computes.is_wait is False


def test_the_line_is_the_one_at_which_requests_wait_longer_not_the_one_with_more_threads() -> None:
    """4 threads at 20 requests a second and 40 at 200 are 200 ms at both loads; 0 and 30 are 150 ms more."""
    lines = {"buy* shop.py:40": (4.0, 40.0), "buy* shop.py:41": (0.0, 30.0)}
    named = found(Shape((2, 20, 200), (70, 200, 350), "", lines)).named
    assert named is not None
    assert (named.function.frame.line, named.clock) == (41, "wall")
    assert named.function.own.growth_s == pytest.approx(0.15)


def test_the_time_of_a_caller_contains_that_of_the_functions_it_calls() -> None:
    (wall,) = found(SHAPES[POOL]).clocks
    handle = next(each for each in wall.functions if each.frame.function == "handle")
    assert (handle.own.low_s, handle.own.high_s) == (0, 0)
    assert (handle.total.low_s, handle.total.high_s) == pytest.approx((1.95 / 40, 20 / 80))
    query = next(each for each in wall.functions if each.frame.function == "query")
    assert query.total.error_s == pytest.approx(query.own.error_s)
    assert handle.total.error_s > query.total.error_s


def test_processes_of_one_service_are_taken_together() -> None:
    """Two interpreters that are each taken for 0.5 of the time are not one that is full."""
    halves = tuple(stacks({"main* a.py:1": 0.5}, clock="cpu", pids=(pid,)) for pid in (7, 8))
    low = Sampled(1, 20, 11.0, tuple(stacks({"main* a.py:1": 0.1}, clock="cpu", pids=(pid,)) for pid in (7, 8)))
    said = difference(session(low, Sampled(8, 98, 90.0, halves)).timeline)
    assert said is not None
    assert said.clocks[0].functions[0].threads == pytest.approx((0.2, 1.0))
    assert said.unnamed == "elsewhere"
    alone = difference(session(low, Sampled(8, 98, 90.0, (stacks({"main* a.py:1": 1.0}, clock="cpu"),))).timeline)
    assert alone is not None and alone.named is not None and alone.named.how == "cpu"


def test_around_a_function_are_its_callers_its_lines_and_what_it_calls() -> None:
    both: Both = {
        "shop* a.py:1; buy* a.py:9; get pool.py:3": (0.4, 16.0),
        "gift* a.py:5; buy* a.py:9; get pool.py:4": (0.4, 8.0),
        "gift* a.py:5; buy* a.py:8": (0.4, 0.8),
        "gift* a.py:6": (9.0, 9.0),
    }
    said = found(Shape((2, 40, 25), (16, 80, 325), "", both))
    seen = around(said, said.clocks[0], ("buy", "a.py", True))

    def told(neighbours: Sequence[Neighbour]) -> list[tuple[str, int, float, float]]:
        ms = [(1000 * each.time.low_s, 1000 * each.time.high_s) for each in neighbours]
        return [
            (one.frame.function, one.frame.line, round(low, 6), round(high, 6))
            for one, (low, high) in zip(neighbours, ms, strict=True)
        ]

    assert told(seen.callers) == [("shop", 1, 10, 200), ("gift", 5, 20, 110)]
    assert told(seen.callees) == [("get", 0, 20, 300), ("buy", 0, 10, 10)]
    assert told(seen.lines) == [("buy", 9, 20, 300), ("buy", 8, 10, 10)]
    own = said.clocks[0].functions[0].own
    assert seen.callees[0].time.error_s == pytest.approx(own.error_s, rel=0.1)
    (outermost,) = around(said, said.clocks[0], ("gift", "a.py", True)).callers
    assert outermost.frame.function == ""
    assert outermost.time.high_s == pytest.approx(17.8 / 80)


def test_one_load_names_nothing() -> None:
    said = difference(session(SHAPES[POOL].levels[1]).timeline)
    assert said is not None
    assert (said.unnamed, said.named, said.low) == ("one_load", None, None)
    assert said.clocks[0].functions[0].own.high_s == pytest.approx(0.2)


def test_without_requests_nothing_is_said_but_what_failed() -> None:
    made = Scenario().ready().open(2).seconds(5, rps=0)
    assert difference(made.timeline) is None
    made.add(
        StacksSampled(t_s=made.t_s, level=0, sampled=(stacks({"buy* shop.py:41": 1}),), failed=("perf: not permitted",))
    ).close()
    said = difference(made.timeline)
    assert said is not None
    assert (said.unnamed, said.failed) == ("not_counted", ("perf: not permitted",))


def test_of_several_samplings_the_least_and_the_greatest_load_are_compared_and_the_latest_of_each() -> None:
    low, high = SHAPES[POOL].levels
    old = low._replace(sampled=(stacks({"old* db.py:1": 1.0}),))
    said = difference(session(old, low, low._replace(users=10), high).timeline)
    assert said is not None and said.low is not None and said.high is not None
    assert (said.low.level, said.high.level) == (1, 3)


def test_each_epoch_has_its_own() -> None:
    low, high = SHAPES[POOL].levels
    made = session(low, high)
    made.ready(epoch=1)
    session(high._replace(users=3), scenario=made, epoch=1)
    first, second = difference(made.timeline, 0), difference(made.timeline)
    assert first is not None and first.named is not None
    assert second is not None and second.unnamed == "one_load"


def drawn(seed: int, mean_s: float, per_s: float, seconds: float = 10.0) -> float:
    """Threads on average in a function in which each request spends an exponential time, as 100 samples a second see it."""
    source = random.Random(seed)
    samples = 0
    for _ in range(int(per_s * seconds)):
        whole, rest = divmod(source.expovariate(1 / mean_s) * 100, 1)
        samples += int(whole) + (source.random() < rest)
    return samples / 100 / seconds


def share_named(count: int, make: Callable[[int], Timeline]) -> float:
    said = [difference(make(seed)) for seed in range(count)]
    return sum(each is not None and each.named is not None for each in said) / count


def test_equal_times_are_rarely_taken_for_a_growth() -> None:
    """60 services whose requests became slower elsewhere: 2.6 standard errors leave about one in a hundred."""

    def made(seed: int) -> Timeline:
        low, high = (drawn(2 * seed + index, 0.03, rate) for index, rate in enumerate((20, 60)))
        levels = ((2, 20, 40.0, low), (16, 60, 41.0, high))
        return session(
            *(Sampled(users, rps, ms, (stacks({"buy* shop.py:41": threads}),)) for users, rps, ms, threads in levels)
        ).timeline

    assert share_named(60, made) <= 0.03


def test_a_growth_by_half_is_found() -> None:
    """40 services whose 30 ms in one function became 45 ms, in 10 s of 20 and 60 requests a second."""

    def made(seed: int) -> Timeline:
        low, high = drawn(2 * seed, 0.03, 20), drawn(2 * seed + 1, 0.045, 60)
        levels = ((2, 20, 40.0, low), (16, 60, 55.0, high))
        return session(
            *(Sampled(users, rps, ms, (stacks({"buy* shop.py:41": threads}),)) for users, rps, ms, threads in levels)
        ).timeline

    assert share_named(40, made) >= 0.8

"""The run that workers connect to: which may join, how users are spread, lost workers, and messages that cannot be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import pytest
import zmq
from locust import User, __version__, task
from locust.rpc import protocol

from capexplorer.errors import InputError
from capexplorer.load import native
from capexplorer.load.engine import Report, Spawned, UsersMovedToWorkers, WorkerRefused, WorkersChanged
from capexplorer.load.load_thread import LoadThread
from capexplorer.load.local_engine import LocalEngine
from capexplorer.load.workers import messages as jobs
from capexplorer.load.workers.master_engine import MasterEngine, MasterOptions
from capexplorer.load.workers.messages import (
    CLOCK,
    GRID,
    HELLO,
    JOB,
    KEY,
    REFUSED,
    WHO,
    Job,
    WorkerHello,
    WorkerSecond,
)
from capexplorer.load.workload import Workload
from capexplorer.model.events import EndpointTick
from capexplorer.profile import Task, Users

TIMEOUT_S = 30.0


Message: Any = protocol.Message


ZMQ: Any = zmq.Context.instance()


JOB_GIVEN = Job(users=Users(task=(Task(name="/a"),)), url="http://127.0.0.1:1", locustfile="a.py", digest="d1")


HERE = WorkerHello(versions=jobs.versions(), host="here", pid=1, cpus=1)


_COUNTS = (
    "num_requests", "num_none_requests", "num_failures", "total_response_time", "max_response_time", "total_content_length",
)  # fmt: skip


class _Someone(User):
    @task
    def nothing(self) -> None:
        pass


class _Rig:
    """A run without load that listens for workers, and what it reports."""

    def __init__(self, *, plain: bool = False, starts_here: bool = False) -> None:
        """`starts_here`: its users run in this process at first."""
        self.reports: list[Report] = []
        master = partial(MasterEngine, options=MasterOptions(accepts_plain=plain, here="here"), job=JOB_GIVEN)
        self.host = LoadThread(self.reports.append, LocalEngine if starts_here else master)
        self.host.start()
        self.host.make_workload(lambda: Workload((_Someone,)), None, own_events=True)
        self.engine: Any = self.host.engine

    def of(self, kind: type) -> list[Any]:
        return [report for report in self.reports if isinstance(report, kind)]

    def until(self, done: Callable[[], Any], *workers: _FakeWorker) -> None:
        """Serves these workers until `done` is true."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while not done():
            assert time.monotonic() < deadline_s, "not done in time"
            for worker in workers:
                worker.serve(0.01)
            native.sleep(0.01)

    def joined(self, *names: str, **options: Any) -> list[_FakeWorker]:
        """Workers that have joined, in this order: it is that of their numbers."""
        made: list[_FakeWorker] = []
        for name in names:
            made.append(_FakeWorker(self, name, **options))
            self.until(lambda: len(self.of(WorkersChanged)) == len(made), *made)
        return made


class _FakeWorker:
    """Sends the messages of a WorkerRunner, and runs as many users as the master assigns to it."""

    def __init__(self, rig: _Rig, name: str, hello: WorkerHello | None = HERE, clock_s: float = 0.0) -> None:
        self.name, self.clock_s = name, clock_s
        self.seen: list[Any] = []
        self.counts: dict[str, int] = {"_Someone": 0}
        self.socket: Any = ZMQ.socket(zmq.DEALER)
        self.socket.identity = name.encode()
        self.socket.connect(f"tcp://127.0.0.1:{rig.engine.port}")
        if hello is not None:
            self.send(WHO, jobs.packed(hello))
        self.send("client_ready", __version__)

    def send(self, kind: str, data: Any = None) -> None:
        self.socket.send(Message(kind, data, self.name).serialize())

    def serve(self, for_s: float) -> None:
        self.send("heartbeat", {"state": "running", "current_cpu_usage": 1})
        while self.socket.poll(for_s * 1000):
            message = Message.unserialize(self.socket.recv())
            self.seen.append(message)
            if message.type == "spawn":
                self.counts = message.data["user_classes_count"]
                self.send("spawning")
                self.send("spawning_complete", {"user_classes_count": self.counts, "user_count": sum(self.counts.values())})
            elif message.type == CLOCK:
                self.send(CLOCK, {**message.data, "worker_s": time.monotonic() + self.clock_s})

    def of(self, kind: str) -> list[Any]:
        return [message.data for message in self.seen if message.type == kind]

    def report(self, second: WorkerSecond | None = None, stats: Any = ()) -> None:
        total: dict[str, Any] = {
            "name": "Aggregated", "method": "", "last_request_timestamp": None, "start_time": 0.0, "min_response_time": None,
            "response_times": {}, "num_reqs_per_sec": {}, "num_fail_per_sec": {}, **dict.fromkeys(_COUNTS, 0),
        }  # fmt: skip
        data: dict[str, Any] = {"stats": list(stats), "stats_total": total, "errors": {}, "user_classes_count": self.counts}
        data["user_count"] = sum(self.counts.values())
        self.send("stats", data if second is None else {**data, KEY: jobs.packed(second)})

    def second(self, boundary_s: float, requests: int = 1) -> WorkerSecond:
        """The second that ends at this moment of the run, by this worker's own clock."""
        ended_s = boundary_s + self.clock_s
        endpoint = EndpointTick(name="/a", requests=requests, latency_sum_ms=5.0)
        users = sum(self.counts.values())
        return WorkerSecond(t_s=ended_s, duration_s=1.0, users=users, warm_users=users, endpoints=(endpoint,))


pytestmark = pytest.mark.slow

Make = Callable[..., _Rig]


@pytest.fixture
def run() -> Iterator[Make]:
    made: list[_Rig] = []

    def make(**options: bool) -> _Rig:
        made.append(_Rig(**options))
        return made[-1]

    yield make
    assert all([each.host.stop() for each in made])


def test_users_are_spread_and_reported_when_all_of_them_run(run: Make) -> None:
    rig = run()
    workers = rig.joined("here_1", "here_2")
    rig.host.set_users(5, 100.0)
    rig.until(lambda: rig.of(Spawned), *workers)
    assert (rig.host.users, sorted(sum(each.counts.values()) for each in workers)) == (5, [2, 3])
    rig.host.set_users(0, 100.0)
    rig.until(lambda: len(rig.of(Spawned)) == 2, *workers)
    assert rig.host.users == 0
    assert rig.host.stop()
    rig.until(lambda: workers[0].of("quit"), workers[0])


def test_a_step_ends_although_users_have_died_since_they_started(run: Make) -> None:
    """With users whose on_start failed each step took 20 s too long. Here each worker finishes its part when half
    of the users of the other one have died.
    """
    rig = run()
    workers = rig.joined("here_1", "here_2")
    rig.host.set_users(4, 100.0)
    for worker in workers:
        rig.until(partial(worker.of, "spawn"), worker)
        worker.counts = {"_Someone": 1}
        worker.report()
        rig.until(lambda: rig.host.users in (1, 2), worker)
    rig.until(lambda: rig.of(Spawned), *workers)
    assert list(rig.host.errors.waiting) == []


def test_a_step_waits_for_workers_and_is_spread_again_when_one_joins(run: Make) -> None:
    rig = run()
    rig.host.set_users(4, 100.0)
    native.sleep(0.3)
    assert rig.of(Spawned) == []
    one = _FakeWorker(rig, "here_1")
    rig.until(lambda: rig.host.users == 4, one)
    two = _FakeWorker(rig, "here_2")
    rig.until(lambda: sum(two.counts.values()) == 2 and rig.host.users == 4 and len(rig.of(Spawned)) >= 2, one, two)


def test_a_silent_worker_is_lost_and_its_users_run_elsewhere(run: Make) -> None:
    rig = run()
    one, two = rig.joined("here_1", "here_2")
    rig.host.set_users(6, 100.0)
    rig.until(lambda: rig.of(Spawned), one, two)
    rig.until(lambda: len(rig.of(WorkersChanged)) == 3, one)
    change = rig.of(WorkersChanged)[-1]
    assert (change.change, change.name, change.count) == ("lost", "2", 1)
    rig.until(lambda: sum(one.counts.values()) == 6 and rig.host.users == 6, one)
    two.report()
    rig.until(lambda: two.of("quit"), two)


def test_workers_take_over_the_users_of_this_process_once_they_have_joined(run: Make) -> None:
    """The users run in this process until the worker has joined, and then only in the worker, which gets later steps."""
    rig = run(starts_here=True)
    rig.host.set_users(4, 100.0)
    rig.until(lambda: rig.host.users == 4)
    rig.host.call(lambda: rig.host.prepare(partial(MasterEngine, options=MasterOptions(here="here"), job=JOB_GIVEN)))
    local, rig.engine = rig.host.engine, rig.host.next_engine
    [one] = rig.joined("here_1")
    assert local.users == 4
    before = len(rig.of(Spawned))
    rig.host.post(rig.host.adopt)
    rig.until(lambda: rig.of(UsersMovedToWorkers) and rig.host.users == 4, one)
    rig.until(lambda: len(rig.of(Spawned)) == before + 1, one)
    assert (local.users, sum(one.counts.values())) == (0, 4)
    rig.host.set_users(1, 100.0)
    rig.until(lambda: rig.host.users == 1, one)


def test_workers_cannot_take_over_where_they_cannot_join(run: Make) -> None:
    """A port that is taken: the users go on running in this process, and workers at another port take them over."""
    host, port = run(starts_here=True).host, run().engine.port

    def prepare(port: int) -> None:
        host.call(lambda: host.prepare(partial(MasterEngine, options=MasterOptions(port=port, here="here"), job=JOB_GIVEN)))

    with pytest.raises(InputError, match=f"workers cannot join at 127.0.0.1:{port}: address already in use"):
        prepare(port)
    assert host.next_engine is None
    prepare(0)
    assert host.next_engine is not None


def test_seconds_of_workers_with_other_clocks_make_one_tick(run: Make) -> None:
    rig = run()
    [one] = rig.joined("here_1", clock_s=500.0)
    two = _FakeWorker(rig, "there_2", WorkerHello(versions=jobs.versions(), host="there", pid=2, cpus=1), clock_s=-70.0)
    rig.until(lambda: len(rig.of(WorkersChanged)) == 2, one, two)
    boundary_s = time.monotonic() + 2.0
    rig.host.post(lambda: rig.engine.registry.align_seconds(boundary_s))
    rig.until(lambda: one.of(GRID) and two.of(GRID), one, two)
    for worker in (one, two):
        assert worker.of(GRID)[-1]["boundary_s"] - worker.clock_s == pytest.approx(boundary_s, abs=0.05)
    rig.until(lambda: time.monotonic() > boundary_s, one, two)
    one.report(msgspec.structs.replace(one.second(boundary_s, 3), users=2))  # about to be replaced: Locust does not count them
    rig.until(lambda: len(rig.engine._came) == 1)
    assert not rig.host.is_due(boundary_s)
    two.report(two.second(boundary_s, 4))
    rig.until(lambda: rig.host.is_due(boundary_s))
    drained, late = rig.host.drain(boundary_s), rig.host.drain(boundary_s + 1.0)
    assert drained.workers is not None
    assert late.workers is not None
    assert (drained.tick.all_requests, drained.tick.users, drained.is_whole) == (7, 2, True)
    assert [row.name for row in drained.workers.rows] == ["1", "2@there"]
    assert (late.is_whole, late.workers.late) == (False, 2)


def test_only_workers_of_this_version_get_the_job(run: Make) -> None:
    rig = run()

    def answer_to(name: str, hello: bytes) -> Any:
        socket: Any = ZMQ.socket(zmq.DEALER)
        socket.identity = name.encode()
        socket.connect(f"tcp://127.0.0.1:{rig.engine.port}")
        socket.send(Message(HELLO, hello, "").serialize())
        assert socket.poll(TIMEOUT_S * 1000)
        return Message.unserialize(socket.recv())

    given = answer_to("right", jobs.packed(HERE))
    assert (given.type, jobs.unpacked(given.data, Job)) == (JOB, JOB_GIVEN)
    other = WorkerHello(versions={**jobs.versions(), "capexplorer": "0.0"}, host="h", pid=1, cpus=1)
    refused = answer_to("another_version", jobs.packed(other))
    assert refused.type == REFUSED
    assert refused.data.startswith("it has capexplorer 0.0, the run has ")
    assert answer_to("no_hello", b"\xff\x00").type == REFUSED
    plain = _FakeWorker(rig, "plain_1", hello=None)
    rig.until(lambda: plain.of(REFUSED), plain)
    assert "--plain-workers" in plain.of(REFUSED)[0]
    assert (len(rig.of(WorkerRefused)), rig.of(WorkersChanged)) == (3, [])


def test_plain_locust_workers_join_where_they_are_allowed(run: Make) -> None:
    rig = run(plain=True)
    [plain] = rig.joined("box_1", hello=None)
    rig.host.set_users(3, 100.0)
    rig.until(lambda: rig.of(Spawned), plain)
    entry = {
        **dict.fromkeys(_COUNTS, 0), "name": "/a", "method": "GET", "last_request_timestamp": None, "start_time": 0.0,
        "num_requests": 9, "total_response_time": 90.0, "max_response_time": 10, "min_response_time": 10,
        "response_times": {10: 9}, "num_reqs_per_sec": {}, "num_fail_per_sec": {},
    }  # fmt: skip
    plain.report(stats=[entry])
    native.sleep(1.0)
    plain.report(stats=[entry])
    rig.until(lambda: rig.engine._came)
    drained, change = rig.host.drain(time.monotonic()), rig.of(WorkersChanged)[0]
    assert drained.workers is not None
    assert (change.plain, change.name) == (True, "1@box")
    assert (drained.tick.all_requests, drained.workers.plain) == (9, 1)


def test_messages_that_cannot_be_read_stop_nothing_and_a_worker_that_sends_one_is_lost(run: Make) -> None:
    rig = run()
    socket: Any = ZMQ.socket(zmq.DEALER)
    socket.connect(f"tcp://127.0.0.1:{rig.engine.port}")
    for junk in (b"", b"\xc1", b"\x93\x01\x02\x03", b"\x81\xa1a\x01", bytes(100)):
        socket.send(junk)
    socket.send_multipart([b"a", b"b", b"c"])
    for kind in (WHO, CLOCK, "stats", "spawning_complete", "locustfile", "heartbeat", "quit"):
        socket.send(Message(kind, {"x": 1}, "stranger").serialize())
    native.sleep(0.3)
    [one] = rig.joined("here_1")
    one.send(CLOCK, "x")
    rig.until(lambda: len(rig.of(WorkersChanged)) == 2, one)
    assert "`capexplorer_clock` cannot be read: TypeError" in rig.of(WorkersChanged)[1].why
    two = _FakeWorker(rig, "here_2")
    rig.host.set_users(2, 100.0)
    rig.until(lambda: rig.host.users == 2, two)

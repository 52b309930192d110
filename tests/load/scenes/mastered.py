"""The run that workers connect to. The workers are fakes: a socket with messages of Locust's protocol, without users."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import zmq
from locust import User, __version__, task
from locust.rpc import protocol

from capexplorer.errors import InputError
from capexplorer.load import native
from capexplorer.load.engine import Report, Spawned, UsersMovedToWorkers, WorkerRefused, WorkersChanged
from capexplorer.load.load_thread import LoadThread
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
    encode_second,
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

    def __init__(self, *, plain: bool = False) -> None:
        self.reports: list[Report] = []
        options = MasterOptions(accepts_plain=plain, here="here")
        self.host = LoadThread(self.reports.append, engine=partial(MasterEngine, options=options, job=JOB_GIVEN))
        self.host.start()
        self.host.make_workload(lambda: Workload((_Someone,)), None, own_events=True)
        self.engine: Any = self.host.engine

    def of(self, kind: type) -> list[Any]:
        return [report for report in self.reports if isinstance(report, kind)]

    def until(self, done: Callable[[], Any], *workers: _FakeWorker) -> bool:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not done() and time.monotonic() < deadline_s:
            for worker in workers:
                worker.serve(0.01)
            native.sleep(0.01)
        return bool(done())


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
        self.send("stats", data if second is None else {**data, KEY: encode_second(second)})

    def second(self, boundary_s: float, requests: int = 1) -> WorkerSecond:
        """The second that ends at this moment of the run, by this worker's own clock."""
        ended_s = boundary_s + self.clock_s
        endpoint = EndpointTick(name="/a", requests=requests, latency_sum_ms=5.0)
        users = sum(self.counts.values())
        return WorkerSecond(t_s=ended_s, duration_s=1.0, users=users, warm_users=users, endpoints=(endpoint,))


def users_are_spread_and_reported_when_all_of_them_run() -> list[Any]:
    rig = _Rig()
    one, two = _FakeWorker(rig, "here_1"), _FakeWorker(rig, "here_2")
    joined = rig.until(lambda: len(rig.of(WorkersChanged)) == 2, one, two)
    rig.host.set_users(5, 100.0)
    spawned = rig.until(lambda: rig.of(Spawned), one, two)
    found = [joined, spawned, rig.host.users, sorted(sum(each.counts.values()) for each in (one, two))]
    rig.host.set_users(0, 100.0)
    found.append(rig.until(lambda: len(rig.of(Spawned)) == 2, one, two) and rig.host.users)
    return [*found, rig.host.stop(), rig.until(lambda: one.of("quit") is not None and "quit" in {m.type for m in one.seen}, one)]


def a_step_ends_although_users_have_died_since_they_started() -> list[Any]:
    """Each worker finishes its part when half of the users of the other one have died."""
    rig = _Rig()
    one, two = _FakeWorker(rig, "here_1"), _FakeWorker(rig, "here_2")
    rig.until(lambda: len(rig.of(WorkersChanged)) == 2, one, two)
    rig.host.set_users(4, 100.0)
    for worker in (one, two):
        rig.until(partial(worker.of, "spawn"), worker)
        worker.counts = {"_Someone": 1}
        worker.report()
        rig.until(lambda: rig.host.users in (1, 2), worker)
    spawned = rig.until(lambda: rig.of(Spawned), one, two)
    stalled = [each.text for each in rig.host.errors.waiting]
    rig.host.stop()
    return [spawned, stalled]


def a_step_waits_for_workers_and_is_spread_again_when_one_joins() -> list[Any]:
    rig = _Rig()
    rig.host.set_users(4, 100.0)
    native.sleep(0.3)
    early = len(rig.of(Spawned))
    one = _FakeWorker(rig, "here_1")
    first = rig.until(lambda: rig.host.users == 4, one)
    two = _FakeWorker(rig, "here_2")
    spread = rig.until(lambda: sum(two.counts.values()) == 2, one, two)
    found = [early, first, spread, rig.until(lambda: rig.host.users == 4 and len(rig.of(Spawned)) >= 2, one, two)]
    rig.host.stop()
    return found


def a_silent_worker_is_lost_and_its_users_run_elsewhere() -> list[Any]:
    rig = _Rig()
    one, two = _FakeWorker(rig, "here_1"), _FakeWorker(rig, "here_2")
    rig.until(lambda: len(rig.of(WorkersChanged)) == 2, one, two)
    rig.host.set_users(6, 100.0)
    rig.until(lambda: rig.of(Spawned), one, two)
    silent_s = time.monotonic()

    def is_reported() -> bool:
        one.send("heartbeat", {"state": "running", "current_cpu_usage": 1})
        return len(rig.of(WorkersChanged)) == 3

    lost = rig.until(is_reported, one)
    after_s = time.monotonic() - silent_s
    change = rig.of(WorkersChanged)[-1]
    moved = rig.until(lambda: sum(one.counts.values()) == 6 and rig.host.users == 6, one)
    two.report()
    quit_sent = rig.until(lambda: "quit" in {message.type for message in two.seen}, two)
    rig.host.stop()
    return [lost, 2.5 < after_s < 4.0, change.change, change.name, change.count, moved, quit_sent]


def workers_take_over_the_users_of_this_process() -> list[Any]:
    """The users run in this process until the worker has joined, and then only in the worker, which gets later steps."""
    reports: list[Report] = []
    host = LoadThread(reports.append)
    host.start()
    host.make_workload(lambda: Workload((_Someone,)), None, own_events=True)
    rig = _Rig.__new__(_Rig)
    rig.reports, rig.host = reports, host
    host.set_users(4, 100.0)
    here = rig.until(lambda: host.users == 4)
    options = MasterOptions(here="here")
    host.call(lambda: host.prepare(partial(MasterEngine, options=options, job=JOB_GIVEN)))
    local, rig.engine = host.engine, host.next_engine
    one = _FakeWorker(rig, "here_1")
    joined = rig.until(lambda: len(rig.of(WorkersChanged)) == 1, one)
    still_here, before = local.users, len(rig.of(Spawned))
    host.post(host.adopt)
    over = rig.until(lambda: rig.of(UsersMovedToWorkers) and host.users == 4, one)
    spawned = rig.until(lambda: len(rig.of(Spawned)) == before + 1, one)
    found = [here, joined, still_here, over, local.users, sum(one.counts.values()), spawned]
    host.set_users(1, 100.0)
    return [*found, rig.until(lambda: host.users == 1, one), host.stop()]


def workers_cannot_take_over_where_they_cannot_join() -> list[Any]:
    """A port that is taken: the users go on running in this process, and workers at another port take them over."""
    reports: list[Report] = []
    host = LoadThread(reports.append)
    host.start()
    host.make_workload(lambda: Workload((_Someone,)), None, own_events=True)
    taken = _Rig()
    found: list[Any] = []
    for port in (taken.engine.port, 0):
        options = MasterOptions(port=port, here="here")
        try:
            host.call(partial(host.prepare, partial(MasterEngine, options=options, job=JOB_GIVEN)))
        except InputError as error:
            found.append(str(error).replace(str(port), "PORT"))
        found.append(host.next_engine is not None)
    return [*found, taken.host.stop(), host.stop()]


def seconds_of_workers_with_other_clocks_make_one_tick() -> list[Any]:
    rig = _Rig()
    one = _FakeWorker(rig, "here_1", clock_s=500.0)
    rig.until(lambda: len(rig.of(WorkersChanged)) == 1, one)  # workers are numbered in the order in which they join
    two = _FakeWorker(rig, "there_2", HERE_ELSEWHERE, clock_s=-70.0)
    rig.until(lambda: len(rig.of(WorkersChanged)) == 2, one, two)
    boundary_s = time.monotonic() + 2.0
    rig.host.post(lambda: rig.engine.registry.align_seconds(boundary_s))
    grids = rig.until(lambda: one.of(GRID) and two.of(GRID), one, two)
    off_s = [abs(worker.of(GRID)[-1]["boundary_s"] - worker.clock_s - boundary_s) for worker in (one, two)]
    rig.until(lambda: time.monotonic() > boundary_s, one, two)
    one.report(msgspec.structs.replace(one.second(boundary_s, 3), users=2))  # about to be replaced: Locust does not count them
    alone = rig.until(lambda: len(rig.engine._came) == 1) and rig.host.is_due(boundary_s)
    two.report(two.second(boundary_s, 4))
    complete = rig.until(lambda: rig.host.is_due(boundary_s))
    drained = rig.host.drain(boundary_s)
    late = rig.host.drain(boundary_s + 1.0)
    rig.host.stop()
    return [
        bool(grids), max(off_s) < 0.05, alone, complete, drained.tick.all_requests, drained.tick.users, drained.is_whole,
        [row.name for row in drained.workers.rows] if drained.workers else [],
        late.is_whole, late.workers.late if late.workers else None,
    ]  # fmt: skip


HERE_ELSEWHERE = WorkerHello(versions=jobs.versions(), host="there", pid=2, cpus=1)


def who_may_join() -> dict[str, Any]:
    """The answer to a hello by what is wrong with it, and the answer to a plain Locust worker."""
    rig = _Rig()
    found: dict[str, Any] = {}
    asking = {
        "right": jobs.packed(HERE),
        "another version": jobs.packed(WorkerHello(versions={**jobs.versions(), "capexplorer": "0.0"}, host="h", pid=1, cpus=1)),
        "no hello": b"\xff\x00",
    }
    for index, (name, hello) in enumerate(asking.items()):
        socket: Any = ZMQ.socket(zmq.DEALER)
        socket.identity = f"asker_{index}".encode()
        socket.connect(f"tcp://127.0.0.1:{rig.engine.port}")
        socket.send(Message(HELLO, hello, "").serialize())
        answer = Message.unserialize(socket.recv()) if socket.poll(TIMEOUT_S * 1000) else None
        found[name] = answer and [
            answer.type,
            jobs.unpacked(answer.data, Job) == JOB_GIVEN if answer.type == JOB else answer.data,
        ]
    plain = _FakeWorker(rig, "plain_1", hello=None)
    found["plain"] = rig.until(lambda: plain.of(REFUSED), plain) and plain.of(REFUSED)[0]
    found["refused"] = [each.why.split(":")[0] for each in rig.of(WorkerRefused)]
    found["joined"] = len(rig.of(WorkersChanged))
    rig.host.stop()
    return found


def plain_workers_join_where_they_are_allowed() -> list[Any]:
    rig = _Rig(plain=True)
    plain = _FakeWorker(rig, "box_1", hello=None)
    joined = rig.until(lambda: rig.of(WorkersChanged), plain)
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
    came = rig.until(lambda: bool(rig.engine._came))
    drained = rig.host.drain(time.monotonic())
    rig.host.stop()
    assert drained.workers is not None
    change = rig.of(WorkersChanged)[0]
    return [joined, change.plain, change.name, came, drained.tick.all_requests, drained.workers.plain]


def messages_that_cannot_be_read_stop_nothing() -> list[Any]:
    rig = _Rig()
    socket: Any = ZMQ.socket(zmq.DEALER)
    socket.connect(f"tcp://127.0.0.1:{rig.engine.port}")
    for junk in (b"", b"\xc1", b"\x93\x01\x02\x03", b"\x81\xa1a\x01", bytes(100)):
        socket.send(junk)
    socket.send_multipart([b"a", b"b", b"c"])
    for kind in (WHO, CLOCK, "stats", "spawning_complete", "locustfile", "heartbeat", "quit"):
        socket.send(Message(kind, {"x": 1}, "stranger").serialize())
    native.sleep(0.3)
    one = _FakeWorker(rig, "here_1")
    joined = rig.until(lambda: len(rig.of(WorkersChanged)) == 1, one)
    one.send(CLOCK, "x")
    lost = rig.until(lambda: len(rig.of(WorkersChanged)) == 2, one)
    two = _FakeWorker(rig, "here_2")
    rig.host.set_users(2, 100.0)
    found = [joined, lost, rig.until(lambda: rig.host.users == 2, two)]
    rig.host.stop()
    return [*found, rig.of(WorkersChanged)[1].why]

"""Workers that generate no load: each joins a run over its real socket and reports invented requests once a second.

    CAPEXPLORER_SECRET=... python -m lab.bench.simulated_workers PORT COUNT ENDPOINTS REQUESTS

REQUESTS: per second, for each endpoint of each worker. The workers end when the run ends. `python -m lab.bench many_workers`
starts this program.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from capexplorer.load import native

native.patch()

import gevent  # noqa: E402
import numpy as np  # noqa: E402
from locust import __version__  # noqa: E402
from locust.rpc import Message, zmqrpc  # noqa: E402
from locust.stats import RequestStats  # noqa: E402

from capexplorer.load.hooks.hook import put_in_place  # noqa: E402
from capexplorer.load.hooks.hook_table import WORKERS  # noqa: E402
from capexplorer.load.workers import messages, worker_engine  # noqa: E402
from capexplorer.load.workers.messages import KEY, WorkerHello, WorkerSecond  # noqa: E402
from capexplorer.model.events import EndpointTick  # noqa: E402
from capexplorer.model.histogram import LatencyHistogram  # noqa: E402
from capexplorer.model.readings import GeneratorReading  # noqa: E402
from capexplorer.run.options import SECRET  # noqa: E402

HOST = "127.0.0.1"


def seconds(count: int, endpoints: int, requests: int) -> list[tuple[EndpointTick, ...]]:
    """`count` different reports of one second, which the workers send in rotation; log-normal latencies around 20 ms."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(count):
        ticks = []
        for number in range(endpoints):
            latencies_us = random.lognormal(np.log(20_000), 0.5, requests)
            histogram = LatencyHistogram()
            histogram.record_us(latencies_us)
            sum_ms = float(latencies_us.sum()) / 1e3
            ticks.append(EndpointTick(name=f"/{number}", requests=requests, latency=histogram.encode(), latency_sum_ms=sum_ms))
        found.append(tuple(ticks))
    return found


def locust_report(endpoints: int, requests: int) -> dict[str, Any]:
    stats = RequestStats()
    for number in range(endpoints):
        for latency_ms in range(10, 10 + requests):
            stats.log_request("GET", f"/{number}", latency_ms, 100)
    total = stats.total.get_stripped_report()
    return {"stats": stats.serialize_stats(), "stats_total": total, "errors": {}}


class SimulatedWorker:
    def __init__(self, number: int, port: int, reports: list[tuple[EndpointTick, ...]], of_locust: dict[str, Any]) -> None:
        self._number, self._port, self._reports, self._of_locust = number, port, reports, of_locust
        self._hello = WorkerHello(versions=messages.versions(), host=f"machine-{number}", pid=os.getpid(), cpus=2)
        self._id = f"machine-{number}_simulated"
        self._users: dict[str, int] = {}
        self._boundary_s = time.monotonic() + 1.0
        self._has_ended = False

    def work(self) -> None:
        worker_engine.ask(HOST, self._port, self._hello, within_s=120.0)
        self._client = zmqrpc.Client(HOST, self._port, self._id)  # type: ignore[no-untyped-call]
        self._send(messages.WHO, messages.packed(self._hello))
        self._send("client_ready", __version__)
        reporting = gevent.spawn(self._report)
        while not self._has_ended:
            self._answer(self._client.recv())  # type: ignore[no-untyped-call]
        reporting.kill()

    def _answer(self, message: Message) -> None:
        match message.type:
            case messages.CLOCK:
                self._send(messages.CLOCK, {**message.data, "worker_s": time.monotonic()})
            case messages.GRID:
                behind_s = time.monotonic() - message.data["boundary_s"]
                self._boundary_s = message.data["boundary_s"] + behind_s // 1 + 1
            case "spawn":
                self._users = message.data["user_classes_count"]
                self._send("spawning", None)
                self._send("spawning_complete", self._counts())
            case "quit":
                self._has_ended = True

    def _counts(self) -> dict[str, Any]:
        return {"user_classes_count": self._users, "user_count": sum(self._users.values())}

    def _report(self) -> None:
        turn = 0
        while True:
            gevent.sleep(max(0.0, self._boundary_s - time.monotonic()))
            ended_s = self._boundary_s
            self._boundary_s += 1.0
            turn += 1
            self._send("heartbeat", {"state": "running", "current_cpu_usage": 5.0, "current_memory_usage": 10**8})
            self._send("stats", {KEY: self._second(ended_s, turn), **self._of_locust, **self._counts()})

    def _second(self, ended_s: float, turn: int) -> bytes:
        users = sum(self._users.values())
        endpoints = self._reports[(turn + self._number) % len(self._reports)] if users else ()
        return messages.packed(
            WorkerSecond(
                t_s=ended_s,
                duration_s=1.0,
                users=users,
                warm_users=users,
                endpoints=endpoints,
                all_latency_sum_ms=sum(each.latency_sum_ms for each in endpoints),
                generator=GeneratorReading(cpu_ratio=0.2, run_delay_ratio=0.01, loop_lag_p99_ms=1.0, fds=30, fds_limit=1024),
            )
        )

    def _send(self, kind: str, data: Any) -> None:
        self._client.send(Message(kind, data, self._id))  # type: ignore[no-untyped-call]


def main() -> None:
    port, count, endpoints, requests = map(int, sys.argv[1:])
    put_in_place(WORKERS, os.environ[SECRET])
    reports, of_locust = seconds(count, endpoints, requests), locust_report(endpoints, requests)
    gevent.joinall(
        [gevent.spawn(SimulatedWorker(number, port, reports, of_locust).work) for number in range(count)], raise_error=True
    )


if __name__ == "__main__":
    main()

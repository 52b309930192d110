"""Bottlenecks: levels in, what limits the service out. The figures of a case were measured, or lie at a threshold."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from analysis.loads import FACTS, READINGS, Load, closed_session
from capexplorer.analysis.bottleneck import bottlenecks
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.events import FailureSignature, FailureTick, HostFacts, Sample

from .levels import FLAT, LINEAR, TWO_CORES, UNREAD_TARGET, bottleneck_marks, overloaded, states_by_id

# -- a resource is a bottleneck where more users do not increase goodput


SENDS = {"tcp.unsent_bytes": 0.0, "tcp.queued_bytes": 5e5, "tcp.queue_bytes_per_s": 2.5e6}
"""Bytes that a link of 20 Mbit/s sends, and those that wait for it (measured)."""

RESOURCES: list[tuple[str, dict[str, float], str, HostFacts, str]] = [
    ("CPU: all its cores", {"target.cpu_ratio": 3.8, "host.cpu_ratio": 3.9, "target.busiest_thread_ratio": 0.95}, "server", FACTS,
     "target_cpu_saturated"),
    ("CPU: the one core that it may use", {"target.cpu_ratio": 0.97, "target.cpus_allowed": 1,
     "target.busiest_thread_ratio": 0.97},
     "python3.11", FACTS, "target_cpu_saturated"),
    ("CPU: its quota", {"target.cpu_ratio": 1.46}, "server", msgspec.structs.replace(FACTS, cgroup_cpus=1.5),
     "target_cpu_saturated"),
    ("GIL, five threads", {"target.cpu_ratio": 0.94, "target.busiest_thread_ratio": 0.20, "host.cpu_ratio": 1.4}, "python3.11",
     FACTS, "gil_bound"),
    ("GIL, 20 users", {"target.cpu_ratio": 0.91, "target.busiest_thread_ratio": 0.06, "target.threads": 21}, "python3.11",
     FACTS, "gil_bound"),
    ("GIL, on two cores of which the generator uses one",
     {"target.cpu_ratio": 0.97, "target.busiest_thread_ratio": 0.2, "host.cpu_ratio": 1.75, "target.cpus_allowed": 2},
     "python3", TWO_CORES, "gil_bound"),
    ("one thread", {"target.cpu_ratio": 1.0, "target.busiest_thread_ratio": 0.98, "host.cpu_ratio": 1.5}, "python3.11", FACTS,
     "single_thread_cpu_saturated"),
    ("GIL, on a saturated machine where the service has a whole core", {"target.cpu_ratio": 0.945,
     "target.busiest_thread_ratio": 0.08,
     "host.cpu_ratio": 3.99, "target.run_delay_ratio": 0.79}, "python3.11", FACTS, "gil_bound"),
    ("one thread, on a saturated machine where it has a whole core", {"target.cpu_ratio": 0.98,
     "target.busiest_thread_ratio": 0.98,
     "host.cpu_ratio": 4.0, "target.run_delay_ratio": 0.02}, "python3.11", FACTS, "single_thread_cpu_saturated"),
    ("one thread of many", {"target.cpu_ratio": 1.9, "target.busiest_thread_ratio": 0.93, "host.cpu_ratio": 2.5}, "server", FACTS,
     "single_thread_cpu_saturated"),
    ("the machine, for a service that computes", {"target.cpu_ratio": 1.5, "host.cpu_ratio": 3.9, "target.run_delay_ratio": 14.0},
     "server", FACTS, "host_cpu_saturated"),
    ("the machine, for many threads that wait for it among more that sleep", {"target.cpu_ratio": 1.2, "host.cpu_ratio": 1.99,
     "target.run_delay_ratio": 1.6, "target.processes": 5.0}, "python3.11", TWO_CORES, "host_cpu_saturated"),
    ("the machine, for one thread", {"target.cpu_ratio": 0.66, "target.busiest_thread_ratio": 0.66, "host.cpu_ratio": 3.9,
     "target.run_delay_ratio": 0.32}, "server", FACTS, "host_cpu_saturated"),
    ("the machine, for a GIL", {"target.cpu_ratio": 0.58, "host.cpu_ratio": 3.97, "target.run_delay_ratio": 1.58}, "python3.11",
     FACTS, "host_cpu_saturated"),
    ("one thread, of which the hypervisor takes a third", {"target.cpu_ratio": 0.66, "target.busiest_thread_ratio": 0.64,
     "host.cpu_ratio": 2.0, "host.steal_ratio": 1.0}, "memcached", FACTS, "single_thread_cpu_saturated"),
    ("one thread at half of its speed, whose core the hypervisor takes for the rest", {"target.cpu_ratio": 0.48,
     "target.busiest_thread_ratio": 0.47, "host.cpu_ratio": 1.1, "host.steal_ratio": 1.1}, "memcached", FACTS,
     "single_thread_cpu_saturated"),
    ("a pool in the service, on a saturated machine",
     {"target.cpu_ratio": 0.014, "host.cpu_ratio": 3.99, "target.run_delay_ratio": 0.15}, "python3.11", FACTS,
     "lock_or_pool_limit"),
    ("workers, on a saturated machine", {"target.listen_queue": 18.0, "target.cpu_ratio": 0.01, "host.cpu_ratio": 4.0,
     "host.cpu_pressure_ratio": 0.7, "target.run_delay_ratio": 0.01}, "python3.11", FACTS, "worker_pool_exhausted"),
    ("workers", {"target.listen_queue": 56.0, "target.cpu_ratio": 0.02}, "server", FACTS, "worker_pool_exhausted"),
    ("workers, whose short accept queue is full", {"target.listen_queue": 2.6, "target.listen_backlog": 2.0,
     "target.cpu_ratio": 0.02}, "server", FACTS, "worker_pool_exhausted"),
    ("a lock or a pool in the service", {"target.cpu_ratio": 0.02, "target.listen_queue": 0.0}, "python3.11", FACTS,
     "lock_or_pool_limit"),
    ("a disk", {"host.disk_busy_ratio": 0.97, "host.io_pressure_ratio": 0.4, "target.written_bytes_per_s": 5e6}, "server", FACTS,
     "disk_saturated"),
    ("a disk, by writes of which the journal doubles the bytes", {"host.disk_busy_ratio": 0.97, "host.io_pressure_ratio": 0.4,
     "host.disk_bytes_per_s": 1e7, "target.read_bytes_per_s": 0.0, "target.written_bytes_per_s": 5e6}, "server", FACTS,
     "disk_saturated"),
    ("a link behind which replies wait", {**SENDS, "tcp.sending_sockets": 31.0, "target.cpu_ratio": 0.02}, "server", FACTS,
     "network_bandwidth_saturated"),
    ("a pool, whose replies the client acknowledges late", {"tcp.sending_sockets": 12.0, "tcp.unsent_bytes": 0.0,
     "tcp.queued_bytes": 0.0, "target.cpu_ratio": 0.02}, "server", FACTS, "lock_or_pool_limit"),
    ("a pool, and few replies are on their way", {**SENDS, "tcp.sending_sockets": 0.3, "target.cpu_ratio": 0.02}, "server", FACTS,
     "lock_or_pool_limit"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "readings", "program", "host", "expected"), RESOURCES, ids=[each[0] for each in RESOURCES])
def test_a_saturated_resource_is_named_where_goodput_stays_flat(
    why: str, readings: dict[str, float], program: str, host: HostFacts, expected: str
) -> None:
    marks = bottleneck_marks(*overloaded(readings), program=program, host=host)
    assert states_by_id(marks) == {expected: "open"}
    mark = marks[expected]
    assert (mark.kind, mark.key, mark.users) == ("bottleneck", f"bottleneck:{expected}:epoch0", 16)
    assert mark.finding.figures()["users_before"]
    assert mark.finding.figures()["goodput_growth_ratio"] < 0.05


@pytest.mark.parametrize(("why", "readings", "program", "host", "expected"), RESOURCES, ids=[each[0] for each in RESOURCES])
def test_a_busy_resource_below_the_gate_is_not_a_bottleneck(
    why: str, readings: dict[str, float], program: str, host: HostFacts, expected: str
) -> None:
    growing = [Load(load.users, 10.0 * load.users, 50, readings=readings) for load in (*LINEAR, *FLAT)]
    assert states_by_id(bottleneck_marks(*growing, program=program, host=host)) == {}


NO_BOTTLENECK: list[tuple[str, dict[str, float], dict[str, Any], str]] = [
    ("half of its cores", {"target.cpu_ratio": 2.6, "host.cpu_ratio": 3.0}, {}, "server"),
    ("0.91 cores, but not Python", {"target.cpu_ratio": 2.5, "target.busiest_thread_ratio": 0.2}, {}, "server"),
    ("a core of Python that one thread uses most of", {"target.cpu_ratio": 0.94, "target.busiest_thread_ratio": 0.75}, {},
     "python3.11"),
    ("0.78 cores of Python: neither idle nor at the limit of one core", {"target.cpu_ratio": 0.78}, {}, "python3.11"),
    ("Python that could not have had a second core", {"target.cpu_ratio": 0.87, "host.cpu_ratio": 3.85}, {}, "python3.11"),
    ("two busy threads on a full machine",
     {"target.cpu_ratio": 1.75, "target.busiest_thread_ratio": 0.9, "host.cpu_ratio": 3.9}, {}, "server"),
    ("five Python workers at one core together", {"target.cpu_ratio": 2.6, "target.processes": 6}, {}, "python3.11"),
    ("pressure alone", {"host.cpu_pressure_ratio": 0.9, "host.cpu_ratio": 2.0, "target.cpu_ratio": 2.5}, {}, "server"),
    ("a busy host where the service does not wait", {"host.cpu_ratio": 3.95, "target.cpu_ratio": 2.5}, {}, "server"),
    ("a GIL-bound service on a crowded machine, before it was full",
     {"target.cpu_ratio": 0.66, "host.cpu_ratio": 3.5, "target.run_delay_ratio": 0.3}, {}, "python3.11"),
    ("idle, but it waits for cores", {"target.run_delay_ratio": 3.0}, {}, "server"),
    ("io pressure alone", {"host.io_pressure_ratio": 0.9, "target.cpu_ratio": 2.5}, {}, "server"),
    ("a disk that the service uses, and others far more",
     {"host.disk_busy_ratio": 0.97, "host.io_pressure_ratio": 0.4, "host.disk_bytes_per_s": 4e8, "target.read_bytes_per_s": 0.0,
      "target.written_bytes_per_s": 1e6, "target.cpu_ratio": 0.02}, {}, "server"),
    ("another job's disk", {"host.disk_busy_ratio": 0.97, "host.io_pressure_ratio": 0.4, "target.cpu_ratio": 2.5}, {}, "server"),
    ("a queue, but no descriptor left to accept with", {"target.listen_queue": 56.0, "target.fds_fullest": 1020.0}, {}, "server"),
    ("few of the requests inside wait in an accept queue with free places",
     {"target.listen_queue": 2.6, "target.listen_backlog": 128.0, "target.cpu_ratio": 0.02}, {}, "server"),
    ("idle, and half of it fails", {}, {"failure_ratio": 0.5}, "server"),
    ("idle, but the disk is busy", {"host.disk_busy_ratio": 0.8}, {}, "server"),
    ("the CPU was not read", {}, {"unread": ("target.cpu_ratio",)}, "server"),
    ("neither the host nor the service's run delay was read", {},
     {"unread": ("host.cpu_ratio", "target.run_delay_ratio")}, "server"),
    ("the generator was saturated", {"target.cpu_ratio": 3.9},
     {"figures": {"generator_cpu_ratio": 0.99, "loop_lag_p99_ms": 80.0}}, "server"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "readings", "more", "program"), NO_BOTTLENECK, ids=[each[0] for each in NO_BOTTLENECK])
def test_evidence_that_does_not_suffice_gives_no_bottleneck(
    why: str, readings: dict[str, float], more: dict[str, Any], program: str
) -> None:
    assert states_by_id(bottleneck_marks(*overloaded(readings, **more), program=program)) == {}


@pytest.mark.parametrize(
    ("url", "sent", "expected"),
    [
        ("http://10.0.0.7", 120e6, {"network_bandwidth_saturated": "open"}),
        ("http://10.0.0.7", 100e6, {}),
        ("http://127.0.0.1:8080", 120e6, {}),
        ("http://localhost:8080", 120e6, {}),
        ("http://[::1]:8080", 120e6, {}),
    ],
)
def test_a_full_link_is_named_but_not_on_loopback(url: str, sent: float, expected: dict[str, str]) -> None:
    """A link of 1 Gbit/s to a service on another machine, of which there are no readings."""
    gigabit = msgspec.structs.replace(FACTS, link_bytes_per_s=125e6)
    loads = overloaded({"host.sent_bytes_per_s": sent, "host.received_bytes_per_s": 1e6}, unread=UNREAD_TARGET)
    assert states_by_id(bottleneck_marks(*loads, host=gigabit, url=url)) == expected


def test_a_pool_is_less_sure_where_a_link_may_be_the_limit() -> None:
    """Over a network, where the sockets of the service's end were not read."""
    idle = overloaded({"target.cpu_ratio": 0.02})
    [here, there] = (bottleneck_marks(*idle, url=url)["lock_or_pool_limit"] for url in ("http://127.0.0.1:1", "http://10.0.0.7"))
    unavailable = [mark.finding.figures().get("unavailable", []) for mark in (here, there)]
    assert unavailable == [[], ["tcp.sending_sockets"]]
    assert (here.confidence, there.confidence) == ("high", "medium")


def test_an_old_log_without_readings_gives_no_bottleneck() -> None:
    loads = (Load(load.users, load.goodput_rps, load.latency_ms, unread=tuple(READINGS)) for load in (*LINEAR, *FLAT))
    assert bottleneck_marks(*loads) == {}


# -- bottlenecks at any load


WITHOUT_GATE: list[tuple[str, dict[str, float], str]] = [
    ("a CPU quota", {"target.throttled_ratio": 0.2}, "cpu_throttled"),
    ("memory", {"host.memory_pressure_ratio": 0.05, "target.major_faults_per_s": 300.0}, "memory_saturated"),
    ("swap", {"host.swapped_in_per_s": 500.0, "target.major_faults_per_s": 200.0}, "swapping"),
    ("a full disk", {"target.disk_free_bytes": 0.0}, "disk_full"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "readings", "expected"), WITHOUT_GATE, ids=[each[0] for each in WITHOUT_GATE])
def test_some_bottlenecks_need_no_gate(why: str, readings: dict[str, float], expected: str) -> None:
    assert states_by_id(bottleneck_marks(Load(8, 80, 50, readings=readings))) == {expected: "open"}


@pytest.mark.parametrize(
    ("text", "errno", "expected"),
    [("OSError: [Errno N] No space left on device", None, True), ("OSError", 28, True), ("task_failed: no", None, False)],
)
def test_the_text_or_errno_of_a_failure_shows_a_full_disk(text: str, errno: int | None, expected: bool) -> None:
    timeline = closed_session(Load(8, 80, 50, failure_ratio=0.2))
    signature = FailureSignature(types=("CatchResponseError",), text=text, errno=errno)
    failures = (FailureTick(name="/a", method="POST", signature=signature, count=3),)
    timeline.apply(Sample(t_s=10.0, duration_s=1.0, level=0, users=8, wanted=8, phase="settled", settled=True, failures=failures))
    assert ("disk_full" in {mark.id for mark in bottlenecks.marks(epoch_of(timeline, 0))}) is expected


FULL = {"target.disk_free_bytes": 0.0}


def test_a_full_disk_is_named_where_all_requests_fail() -> None:
    failing = Load(8, 0, 50, failure_ratio=1.0, readings=FULL)
    others = states_by_id(bottleneck_marks(Load(2, 20, 50), Load(4, 40, 50)))
    assert states_by_id(bottleneck_marks(Load(2, 20, 50), Load(4, 40, 50), failing)) == {"disk_full": "open", **others}


@pytest.mark.parametrize(
    "readings",
    [
        {"host.memory_pressure_ratio": 0.5},
        {"target.major_faults_per_s": 500.0},
        {"host.swapped_in_per_s": 500.0},
        {"host.steal_ratio": 0.15},
        {"target.throttled_ratio": 0.04},
    ],
    ids=str,
)
def test_pressure_or_faults_alone_are_no_bottleneck(readings: dict[str, float]) -> None:
    assert states_by_id(bottleneck_marks(Load(8, 80, 50, readings=readings))) == {}


# -- states and confidence


def test_a_bottleneck_closes_when_a_later_level_no_longer_shows_it() -> None:
    busy = {"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}
    marks = bottleneck_marks(*overloaded(busy), Load(4, 40, 50))
    assert states_by_id(marks) == {"target_cpu_saturated": "closed"}
    assert marks["not_saturated"].state == "open"


def test_a_level_that_cannot_be_judged_changes_nothing() -> None:
    busy = {"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}
    starved = Load(64, 90, 600, figures={"generator_cpu_ratio": 0.99, "loop_lag_p99_ms": 80.0})
    assert states_by_id(bottleneck_marks(*overloaded(busy), starved)) == {"target_cpu_saturated": "open"}


def test_two_bottlenecks_of_one_level_are_both_reported_with_lower_confidence() -> None:
    alone = bottleneck_marks(*overloaded({"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}))
    both = bottleneck_marks(*overloaded({"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95, "host.disk_busy_ratio": 0.97,
                              "host.io_pressure_ratio": 0.5, "target.written_bytes_per_s": 1e7}))  # fmt: skip
    assert alone["target_cpu_saturated"].confidence == "high"
    assert "competing" not in alone["target_cpu_saturated"].finding.figures()
    assert set(states_by_id(both)) == {"target_cpu_saturated", "disk_saturated"}
    assert both["target_cpu_saturated"].confidence == "medium"
    assert both["target_cpu_saturated"].finding.figures()["competing"] == ["disk_saturated"]


def test_readings_that_could_not_be_taken_are_listed_and_lower_the_confidence() -> None:
    marks = bottleneck_marks(*overloaded({}, unread=("target.listen_queue",)))
    assert marks["lock_or_pool_limit"].finding.figures()["unavailable"] == ["target.listen_queue"]
    assert marks["lock_or_pool_limit"].confidence == "medium"

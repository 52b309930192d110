"""Bottlenecks: levels in, what limits the service out. Each case is a figure that was measured, or stands at a threshold."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from analysis.loads import FACTS, READINGS, Load, closed_session
from capexplorer.analysis import bottleneck
from capexplorer.analysis.bottleneck.gate import gate_of
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.analysis.knee.detector import judge
from capexplorer.analysis.ladder import pooled
from capexplorer.model.events import FailureSignature, FailureTick, HostFacts, Mark, Sample
from trials.simulation.ladders import Kind, linear_ladder
from trials.simulation.ladders import ladder as climbed
from trials.simulation.shown import shown

LINEAR = (Load(2, 20, 50), Load(4, 40, 50), Load(8, 78, 52))
"""Up to here more users bring more."""

FLAT = (Load(16, 100, 110), Load(32, 100, 270))
"""From here on they wait: 100/s is all."""

UNREAD_TARGET = tuple(name for name in READINGS if name.startswith("target."))

TWO_CORES = msgspec.structs.replace(FACTS, cpus=2)


def found(*loads: Load, program: str = "server", host: HostFacts = FACTS, url: str = "http://127.0.0.1:28080") -> dict[str, Mark]:
    timeline = closed_session(*loads, program=program, host=host, url=url)
    return {mark.id: mark for mark in bottleneck.marks(epoch_of(timeline, 0))}


def ids(marks: dict[str, Mark]) -> dict[str, str]:
    return {id_: mark.state for id_, mark in marks.items() if id_ not in ("not_saturated", "think_time_limited")}


def overloaded(readings: dict[str, float], **more: Any) -> tuple[Load, ...]:
    """The ladder with these readings from the level where goodput stays flat."""
    return (*LINEAR, *(Load(load.users, load.goodput_rps, load.latency_ms, readings=readings, **more) for load in FLAT))


# -- a resource is a bottleneck where more users bring nothing


RESOURCES: list[tuple[str, dict[str, float], str, HostFacts, str]] = [
    ("all its cores", {"target.cpu_ratio": 3.8, "host.cpu_ratio": 3.9, "target.busiest_thread_ratio": 0.95}, "server", FACTS,
     "target_cpu_saturated"),
    ("the one core it is allowed", {"target.cpu_ratio": 0.97, "target.cpus_allowed": 1, "target.busiest_thread_ratio": 0.97},
     "python3.11", FACTS, "target_cpu_saturated"),
    ("its quota", {"target.cpu_ratio": 1.46}, "server", msgspec.structs.replace(FACTS, cgroup_cpus=1.5), "target_cpu_saturated"),
    ("GIL, five threads", {"target.cpu_ratio": 0.94, "target.busiest_thread_ratio": 0.20, "host.cpu_ratio": 1.4}, "python3.11",
     FACTS, "gil_bound"),
    ("GIL, 20 users", {"target.cpu_ratio": 0.91, "target.busiest_thread_ratio": 0.06, "target.threads": 21}, "python3.11",
     FACTS, "gil_bound"),
    ("GIL, on two cores of which the generator uses one",
     {"target.cpu_ratio": 0.97, "target.busiest_thread_ratio": 0.2, "host.cpu_ratio": 1.75, "target.cpus_allowed": 2},
     "python3", TWO_CORES, "gil_bound"),
    ("one thread", {"target.cpu_ratio": 1.0, "target.busiest_thread_ratio": 0.98, "host.cpu_ratio": 1.5}, "python3.11", FACTS,
     "single_thread_cpu_saturated"),
    ("GIL, on a full machine that leaves it its core", {"target.cpu_ratio": 0.945, "target.busiest_thread_ratio": 0.08,
     "host.cpu_ratio": 3.99, "target.run_delay_ratio": 0.79}, "python3.11", FACTS, "gil_bound"),
    ("one thread, on a full machine that leaves it its core", {"target.cpu_ratio": 0.98, "target.busiest_thread_ratio": 0.98,
     "host.cpu_ratio": 4.0, "target.run_delay_ratio": 0.02}, "python3.11", FACTS, "single_thread_cpu_saturated"),
    ("one thread of many", {"target.cpu_ratio": 1.9, "target.busiest_thread_ratio": 0.93, "host.cpu_ratio": 2.5}, "server", FACTS,
     "single_thread_cpu_saturated"),
    ("the machine, for one that computes", {"target.cpu_ratio": 1.5, "host.cpu_ratio": 3.9, "target.run_delay_ratio": 14.0},
     "server", FACTS, "host_cpu_saturated"),
    ("the machine, for many threads that wait for it among more that sleep", {"target.cpu_ratio": 1.2, "host.cpu_ratio": 1.99,
     "target.run_delay_ratio": 1.6, "target.processes": 5.0}, "python3.11", TWO_CORES, "host_cpu_saturated"),
    ("the machine, for one thread", {"target.cpu_ratio": 0.66, "target.busiest_thread_ratio": 0.66, "host.cpu_ratio": 3.9,
     "target.run_delay_ratio": 0.32}, "server", FACTS, "host_cpu_saturated"),
    ("the machine, for a GIL", {"target.cpu_ratio": 0.58, "host.cpu_ratio": 3.97, "target.run_delay_ratio": 1.58}, "python3.11",
     FACTS, "host_cpu_saturated"),
    ("a pool inside, on a machine that is full",
     {"target.cpu_ratio": 0.014, "host.cpu_ratio": 3.99, "target.run_delay_ratio": 0.15}, "python3.11", FACTS,
     "lock_or_pool_limit"),
    ("workers, on a machine that is full", {"target.listen_queue": 18.0, "target.cpu_ratio": 0.01, "host.cpu_ratio": 4.0,
     "host.cpu_pressure_ratio": 0.7, "target.run_delay_ratio": 0.01}, "python3.11", FACTS, "worker_pool_exhausted"),
    ("workers", {"target.listen_queue": 56.0, "target.cpu_ratio": 0.02}, "server", FACTS, "worker_pool_exhausted"),
    ("a lock, or a pool inside", {"target.cpu_ratio": 0.02, "target.listen_queue": 0.0}, "python3.11", FACTS,
     "lock_or_pool_limit"),
    ("a disk", {"host.disk_busy_ratio": 0.97, "host.io_pressure_ratio": 0.4, "target.written_bytes_per_s": 5e6}, "server", FACTS,
     "disk_saturated"),
]  # fmt: skip


SHARED = [
    (
        "a third of a nearly full machine",
        {"generator.process_cpu_ratio": 1.3, "target.cpu_ratio": 2.2, "host.cpu_ratio": 3.6},
        0.36,
    ),
    ("little of it", {"generator.process_cpu_ratio": 0.2, "target.cpu_ratio": 3.4, "host.cpu_ratio": 3.7}, None),
    (
        "much, and the machine has cores left",
        {"generator.process_cpu_ratio": 1.3, "target.cpu_ratio": 1.2, "host.cpu_ratio": 2.6},
        None,
    ),
    (
        "a machine that neighbours fill",
        {"generator.process_cpu_ratio": 0.5, "target.cpu_ratio": 1.0, "host.cpu_ratio": 3.9},
        None,
    ),
    ("its CPU was not measured", {"target.cpu_ratio": 2.2, "host.cpu_ratio": 3.6}, None),
]


@pytest.mark.parametrize(("why", "readings", "share"), SHARED, ids=[each[0] for each in SHARED])
def test_the_generators_share_of_a_saturated_machine_is_reported(
    why: str, readings: dict[str, float], share: float | None
) -> None:
    marks = found(*overloaded(readings | {"target.run_delay_ratio": 0.01}))
    assert ("generator_shares_host" in marks) == (share is not None)
    if share is not None:
        mark = marks["generator_shares_host"]
        assert mark.finding.figures()["generator_share_ratio"] == pytest.approx(share, abs=0.005)
        assert (mark.users, mark.confidence, mark.finding.figures().get("competing")) == (16, "high", None)
        assert [each.finding.figures().get("competing") for each in marks.values()] == [None] * len(marks)


@pytest.mark.parametrize(("why", "readings", "program", "host", "expected"), RESOURCES, ids=[each[0] for each in RESOURCES])
def test_a_saturated_resource_is_named_where_goodput_stays_flat(
    why: str, readings: dict[str, float], program: str, host: HostFacts, expected: str
) -> None:
    marks = found(*overloaded(readings), program=program, host=host)
    assert ids(marks) == {expected: "open"}
    mark = marks[expected]
    assert (mark.kind, mark.key, mark.users) == ("bottleneck", f"bottleneck:{expected}:epoch0", 16)
    assert mark.finding.figures()["users_before"] and mark.finding.figures()["goodput_growth_ratio"] < 0.05


@pytest.mark.parametrize(("why", "readings", "program", "host", "expected"), RESOURCES, ids=[each[0] for each in RESOURCES])
def test_a_busy_resource_below_the_gate_is_not_a_bottleneck(
    why: str, readings: dict[str, float], program: str, host: HostFacts, expected: str
) -> None:
    growing = [Load(load.users, 10.0 * load.users, 50, readings=readings) for load in (*LINEAR, *FLAT)]
    assert ids(found(*growing, program=program, host=host)) == {}


NOTHING: list[tuple[str, dict[str, float], dict[str, Any], str]] = [
    ("half of its cores", {"target.cpu_ratio": 2.6, "host.cpu_ratio": 3.0}, {}, "server"),
    ("0.91 cores, but not Python", {"target.cpu_ratio": 2.5, "target.busiest_thread_ratio": 0.2}, {}, "server"),
    ("a core of Python that one thread uses most of", {"target.cpu_ratio": 0.94, "target.busiest_thread_ratio": 0.75}, {},
     "python3.11"),
    ("0.78 cores of Python: neither idle nor surely bound", {"target.cpu_ratio": 0.78}, {}, "python3.11"),
    ("Python that could not have had a second core", {"target.cpu_ratio": 0.87, "host.cpu_ratio": 3.85}, {}, "python3.11"),
    ("two busy threads on a full machine",
     {"target.cpu_ratio": 1.75, "target.busiest_thread_ratio": 0.9, "host.cpu_ratio": 3.9}, {}, "server"),
    ("five Python workers at one core together", {"target.cpu_ratio": 2.6, "target.processes": 6}, {}, "python3.11"),
    ("pressure alone", {"host.cpu_pressure_ratio": 0.9, "host.cpu_ratio": 2.0, "target.cpu_ratio": 2.5}, {}, "server"),
    ("a busy host where the service does not wait", {"host.cpu_ratio": 3.95, "target.cpu_ratio": 2.5}, {}, "server"),
    ("a GIL-bound service on a crowded machine, before it was full",
     {"target.cpu_ratio": 0.66, "host.cpu_ratio": 3.7, "target.run_delay_ratio": 0.3}, {}, "python3.11"),
    ("idle, but it waits for cores", {"target.run_delay_ratio": 3.0}, {}, "server"),
    ("io pressure alone", {"host.io_pressure_ratio": 0.9, "target.cpu_ratio": 2.5}, {}, "server"),
    ("another job's disk", {"host.disk_busy_ratio": 0.97, "host.io_pressure_ratio": 0.4, "target.cpu_ratio": 2.5}, {}, "server"),
    ("a queue, but no descriptor left to accept with", {"target.listen_queue": 56.0, "target.fds_fullest": 1020.0}, {}, "server"),
    ("idle, and half of it fails", {}, {"failure_ratio": 0.5}, "server"),
    ("idle, but the disk is busy", {"host.disk_busy_ratio": 0.8}, {}, "server"),
    ("the CPU was not read", {}, {"unread": ("target.cpu_ratio",)}, "server"),
    ("neither the host nor the service's run delay was read", {},
     {"unread": ("host.cpu_ratio", "target.run_delay_ratio")}, "server"),
    ("the generator was saturated", {"target.cpu_ratio": 3.9},
     {"figures": {"generator_cpu_ratio": 0.99, "loop_lag_p99_ms": 80.0}}, "server"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "readings", "more", "program"), NOTHING, ids=[each[0] for each in NOTHING])
def test_evidence_that_does_not_suffice_gives_no_bottleneck(
    why: str, readings: dict[str, float], more: dict[str, Any], program: str
) -> None:
    assert ids(found(*overloaded(readings, **more), program=program)) == {}


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
    """A gigabit link, and a service on another machine: nothing of it is read here."""
    gigabit = msgspec.structs.replace(FACTS, link_bytes_per_s=125e6)
    loads = overloaded({"host.sent_bytes_per_s": sent, "host.received_bytes_per_s": 1e6}, unread=UNREAD_TARGET)
    assert ids(found(*loads, host=gigabit, url=url)) == expected


def test_an_old_log_without_readings_says_nothing() -> None:
    loads = (Load(load.users, load.goodput_rps, load.latency_ms, unread=tuple(READINGS)) for load in (*LINEAR, *FLAT))
    assert found(*loads) == {}


# -- the gate


GATES: list[tuple[str, tuple[Load, ...], bool]] = [
    ("two levels are enough where users doubled", (Load(8, 78, 50), Load(16, 79, 110)), True),
    ("20% more users, 1% more work", (Load(50, 100, 200), Load(60, 101, 300)), True),
    ("20% more users, 12% more work", (Load(50, 100, 200), Load(60, 112, 300)), False),
    ("too few more users to tell", (Load(50, 100, 200), Load(55, 101, 300)), False),
    ("noisy levels", (Load(8, 78, 50, figures={"goodput_se_rps": 20.0}),
                      Load(16, 79, 110, figures={"goodput_se_rps": 20.0})), False),
    ("flat, but latency did not rise", (Load(8, 78, 50), Load(16, 79, 51)), False),
    ("flat, and latency may have risen", (Load(8, 78, 50), Load(16, 79, 60, figures={"latency_se_ms": 8.0})), False),
    ("goodput collapses", (Load(8, 78, 50), Load(16, 20, 500)), True),
    ("a knee far below, and goodput creeps up", (*LINEAR, Load(16, 98, 110), Load(32, 104, 260), Load(64, 112, 520)), True),
    ("one level alone", (Load(64, 100, 500),), False),
]  # fmt: skip


@pytest.mark.parametrize(("why", "loads", "opens"), GATES, ids=[each[0] for each in GATES])
def test_the_gate_opens_where_more_users_surely_bring_nothing(why: str, loads: tuple[Load, ...], opens: bool) -> None:
    busy = {"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}
    marks = found(*loads[:-1], Load(**{**vars(loads[-1]), "readings": busy}))
    assert ("target_cpu_saturated" in marks) is opens


def test_starved_users_hide_from_latency_but_not_from_the_accept_queue() -> None:
    """Four blocking workers, 32 keep-alive users: Recv-Q 56, CPU 0, the median says 51 ms (docs/causes.md, measured)."""
    marks = found(Load(4, 78, 51), Load(8, 78, 51, readings={"target.listen_queue": 4.0}),
                  Load(32, 78, 51, failure_ratio=0.03, readings={"target.listen_queue": 56.0}))  # fmt: skip
    assert ids(marks) == {"worker_pool_exhausted": "open"}
    assert marks["worker_pool_exhausted"].users == 8 and marks["worker_pool_exhausted"].finding.figures()["listen_queue"] == 56.0


def test_an_accept_queue_of_a_service_that_neighbours_starve_proves_nothing() -> None:
    """nginx beside busy neighbours, seen live: 0.14 cores, waiting for 0.48, 12 of 20 users in the accept queue."""
    starved = {"target.listen_queue": 11.6, "target.cpu_ratio": 0.14, "target.run_delay_ratio": 0.475, "host.cpu_ratio": 2.0,
               "target.busiest_thread_ratio": 0.14}  # fmt: skip
    marks = found(Load(2, 1900, 1.3), Load(5, 1940, 2.3, readings=starved), Load(20, 1950, 7.1, readings=starved), host=TWO_CORES)
    assert "worker_pool_exhausted" not in marks


def test_latency_that_rose_by_no_more_than_the_generators_timers_are_late_opens_nothing() -> None:
    busy = {"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}
    late = {"loop_lag_p99_ms": 40.0}
    assert "target_cpu_saturated" not in found(Load(8, 78, 5), Load(16, 79, 20, readings=busy, figures=late))
    assert "target_cpu_saturated" in found(Load(8, 78, 5), Load(16, 79, 20, readings=busy))


# -- the hypervisor, and other processes of the machine


STOLEN = {"target.cpu_ratio": 2.4, "target.run_delay_ratio": 1.8, "host.cpu_ratio": 3.2, "host.steal_ratio": 0.7}


def test_stolen_time_limits_a_service_that_waits_for_cores_on_a_full_machine() -> None:
    assert ids(found(*overloaded(STOLEN))) == {"cpu_steal": "open"}


@pytest.mark.parametrize(
    ("why", "changed"),
    [
        ("the machine has cores left", {"host.cpu_ratio": 2.6}),
        ("the service does not wait for one", {"target.run_delay_ratio": 0.05}),
        ("the service uses a tenth of a core", {"target.cpu_ratio": 0.1, "target.run_delay_ratio": 0.02}),
        ("little is stolen", {"host.steal_ratio": 0.15, "host.cpu_ratio": 3.8}),
        ("its CPU was not measured", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_stolen_time_alone_limits_nothing(why: str, changed: dict[str, float]) -> None:
    unread = () if changed else UNREAD_TARGET
    assert "cpu_steal" not in found(*overloaded(STOLEN | changed, unread=unread))


def test_stolen_time_is_not_a_bottleneck_while_more_users_bring_more() -> None:
    assert "cpu_steal" not in found(*LINEAR[:-1], Load(8, 78, 52, readings=STOLEN))


HELD = {"host.cpu_ratio": 1.95, "target.cpu_ratio": 0.32, "target.run_delay_ratio": 0.6, "target.busiest_thread_ratio": 0.1,
        "target.cpus_allowed": 2.0, "neighbours.cpu_ratio": 1.6}  # fmt: skip
"""As it was seen: a Python service whose threads had 0.32 cores of the one that they can use, beside two compilers."""


def test_a_level_that_other_processes_disturb_blames_them_and_nothing_else() -> None:
    marks = found(
        *overloaded(HELD, figures={"other_processes": {"cc1plus": 1.31, "chrome": 0.24}}), program="python3", host=TWO_CORES
    )
    assert ids(marks) == {"noisy_neighbours": "open"}
    figures = marks["noisy_neighbours"].finding.figures()
    assert (figures["others_cpu_ratio"], figures["cores"], figures["processes"]) == (1.6, 2, "cc1plus 1.31, chrome 0.24")
    assert figures["target_run_delay_ratio"] == 0.6 and marks["noisy_neighbours"].severity == "warning"
    assert marks["noisy_neighbours"].users == 32, "where they matter most"


def test_other_processes_that_are_gone_at_the_next_level_are_marked_as_ended() -> None:
    marks = found(*LINEAR, Load(16, 100, 110, readings=HELD), Load(16, 155, 55), program="python3", host=TWO_CORES)
    assert ids(marks) == {"noisy_neighbours": "closed"}


def test_a_level_that_other_processes_disturb_ends_no_bottleneck_that_was_found_before() -> None:
    marks = found(*overloaded({"target.cpu_ratio": 0.02}), Load(48, 60, 700, readings=HELD), program="python3", host=TWO_CORES)
    assert ids(marks) == {"lock_or_pool_limit": "open", "noisy_neighbours": "open"}


# -- what is wrong at any load


STANDING: list[tuple[str, dict[str, float], str]] = [
    ("a quota that holds it back", {"target.throttled_ratio": 0.2}, "cpu_throttled"),
    ("memory", {"host.memory_pressure_ratio": 0.05, "target.major_faults_per_s": 300.0}, "memory_saturated"),
    ("swap", {"host.swapped_in_per_s": 500.0, "target.major_faults_per_s": 200.0}, "swapping"),
    ("a full disk", {"target.disk_free_bytes": 0.0}, "disk_full"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "readings", "expected"), STANDING, ids=[each[0] for each in STANDING])
def test_some_bottlenecks_need_no_gate(why: str, readings: dict[str, float], expected: str) -> None:
    assert ids(found(Load(8, 80, 50, readings=readings))) == {expected: "open"}


@pytest.mark.parametrize(
    ("text", "errno", "expected"),
    [("OSError: [Errno N] No space left on device", None, True), ("OSError", 28, True), ("task_failed: no", None, False)],
)
def test_a_service_that_says_so_has_a_full_disk_wherever_it_writes(text: str, errno: int | None, expected: bool) -> None:
    timeline = closed_session(Load(8, 80, 50, failure_ratio=0.2))
    signature = FailureSignature(types=("CatchResponseError",), text=text, errno=errno)
    failures = (FailureTick(name="/a", method="POST", signature=signature, count=3),)
    timeline.apply(Sample(t_s=10.0, duration_s=1.0, level=0, users=8, wanted=8, phase="settled", settled=True, failures=failures))
    assert ("disk_full" in {mark.id for mark in bottleneck.marks(epoch_of(timeline, 0))}) is expected


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
def test_pressure_or_faults_alone_do_not(readings: dict[str, float]) -> None:
    assert ids(found(Load(8, 80, 50, readings=readings))) == {}


# -- nothing limits the service


def waiting(users: int, latency_ms: float, wait_s: float, **more: Any) -> Load:
    """As Little's law has it."""
    return Load(users, users / (latency_ms / 1000 + wait_s), latency_ms, wait_s=wait_s, **more)


def test_fifty_users_that_wait_are_reported_at_the_first_level() -> None:
    """Experiment 3: 50 users that wait 0.5 to 1.5 s on a fast server."""
    marks = found(waiting(50, 3.0, 1.0))
    assert list(marks) == ["think_time_limited"]
    mark = marks["think_time_limited"]
    assert (mark.users, mark.state, mark.severity) == (50, "open", "info")
    assert mark.finding.figures()["wait_s"] == 1.0 and mark.finding.figures()["throughput_rps"] == pytest.approx(49.9, abs=0.1)
    assert mark.finding.figures()["expected_rps"] == pytest.approx(49.9, abs=0.1)


WAITS: list[tuple[str, tuple[Load, ...], bool]] = [
    ("response 2 ms instead of 1, of a cycle of a second", (waiting(5, 1.0, 1.0), waiting(50, 2.0, 1.0)), True),
    ("three responses of wait", (waiting(50, 330.0, 1.0),), True),
    ("less than three", (waiting(50, 350.0, 1.0),), False),
    ("no waits known", (Load(50, 50, 3.0),), False),
    ("users that nothing accounts for", (Load(50, 40, 3.0, wait_s=1.0),), False),
    ("too few requests to tell", (waiting(2, 3.0, 1.0),), False),
    ("response has doubled", (waiting(5, 150.0, 1.0), waiting(50, 300.0, 1.0)), False),
    ("failures", (waiting(50, 3.0, 1.0, failure_ratio=0.2),), False),
]  # fmt: skip


@pytest.mark.parametrize(("why", "loads", "limited"), WAITS, ids=[each[0] for each in WAITS])
def test_waits_limit_where_they_are_most_of_the_cycle_and_response_is_flat(
    why: str, loads: tuple[Load, ...], limited: bool
) -> None:
    marks = found(*loads)
    assert ("think_time_limited" in marks and marks["think_time_limited"].users == 50) is limited


def test_think_time_is_not_the_limit_beyond_the_knee() -> None:
    ladder = [waiting(users, 100.0, 1.0) for users in (5, 10, 20, 40)] + [
        Load(80, 40, 900, wait_s=1.0),
        Load(160, 40, 2900, wait_s=1.0),
    ]
    marks = found(*ladder)
    assert marks["think_time_limited"].state == "closed" and marks["think_time_limited"].users == 40
    assert marks["lock_or_pool_limit"].state == "open"


def test_a_level_with_fewer_users_does_not_close_a_mark_of_the_highest_count() -> None:
    """Up and down: a level of one user has too few requests to be called anything."""
    marks = found(waiting(1, 3.0, 1.0), waiting(50, 3.0, 1.0), waiting(1, 3.0, 1.0))
    assert [(mark.id, mark.users, mark.state) for mark in marks.values()] == [("think_time_limited", 50, "open")]


def test_not_saturated_names_the_busiest_resource() -> None:
    marks = found(*LINEAR[:2], Load(8, 78, 52, readings={"host.disk_busy_ratio": 0.71}))
    assert list(marks) == ["not_saturated"] and marks["not_saturated"].confidence == "high"
    assert found(LINEAR[0])["not_saturated"].confidence == "low"
    assert marks["not_saturated"].finding.figures()["busiest"] == "disk 0.71" and marks["not_saturated"].users == 8


@pytest.mark.parametrize(
    ("why", "load"),
    [
        ("a resource near its end", Load(50, 100, 200, readings={"target.cpu_ratio": 3.7})),
        ("too few requests", Load(1, 1.2, 50)),
        ("failures", Load(50, 100, 200, failure_ratio=0.3)),
        ("nothing finished", Load(50, 0.0, 200)),
        ("no readings of the target", Load(50, 100, 200, unread=UNREAD_TARGET)),
        ("the generator was saturated", Load(50, 100, 200, figures={"generator_cpu_ratio": 0.99, "loop_lag_p99_ms": 80.0})),
        ("no users", Load(0, 0.0, 0.0)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_not_saturated_is_not_said_without_grounds(why: str, load: Load) -> None:
    timeline = closed_session(load)
    assert list(bottleneck.marks(epoch_of(timeline, 0))) == []


# -- states and confidence


def test_a_bottleneck_closes_when_a_later_level_no_longer_shows_it() -> None:
    busy = {"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}
    marks = found(*overloaded(busy), Load(4, 40, 50))
    assert ids(marks) == {"target_cpu_saturated": "closed"} and marks["not_saturated"].state == "open"


def test_a_level_that_cannot_be_judged_changes_nothing() -> None:
    busy = {"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}
    starved = Load(64, 90, 600, figures={"generator_cpu_ratio": 0.99, "loop_lag_p99_ms": 80.0})
    assert ids(found(*overloaded(busy), starved)) == {"target_cpu_saturated": "open"}


def test_competing_ones_are_all_reported_with_less_confidence() -> None:
    alone = found(*overloaded({"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}))
    both = found(*overloaded({"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95, "host.disk_busy_ratio": 0.97,
                              "host.io_pressure_ratio": 0.5, "target.written_bytes_per_s": 1e7}))  # fmt: skip
    assert (
        alone["target_cpu_saturated"].confidence == "high" and "competing" not in alone["target_cpu_saturated"].finding.figures()
    )
    assert set(ids(both)) == {"target_cpu_saturated", "disk_saturated"}
    assert both["target_cpu_saturated"].confidence == "medium"
    assert both["target_cpu_saturated"].finding.figures()["competing"] == ["disk_saturated"]


def test_what_could_not_be_read_is_reported_and_costs_confidence() -> None:
    marks = found(*overloaded({}, unread=("target.listen_queue",)))
    assert marks["lock_or_pool_limit"].finding.figures()["unavailable"] == ["target.listen_queue"]
    assert marks["lock_or_pool_limit"].confidence == "medium"


# -- the gate, simulated


@pytest.mark.parametrize("kind", ["queue", "usl", "linear"])
def test_the_gate_stays_shut_below_the_knee_and_opens_beyond_it(kind: Kind | Literal["linear"]) -> None:
    """Levels of 8 s, one by one as they come; 60 ladders a kind: open at 0 of 1,079 below 0.7 N*, at 543 of 600 beyond 1.4 N*."""
    below, beyond = [], []
    for seed in range(200_000, 200_012):
        ladder = linear_ladder(seed, 8) if kind == "linear" else climbed(kind, seed, level_s=8)
        levels, knee = shown(ladder), ladder.truth.knee_users
        for top in range(1, len(levels)):
            gate = gate_of(levels[top], pooled(levels[: top + 1]), judge(levels[: top + 1]).knee)
            if knee is None or levels[top].users <= 0.7 * knee:
                below.append(gate.is_open)
            elif levels[top].users >= 1.4 * knee:
                beyond.append(gate.is_open)
    assert not any(below) and (not beyond or sum(beyond) >= 0.8 * len(beyond))

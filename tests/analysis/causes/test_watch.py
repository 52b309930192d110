"""Sequences of events in, cause marks out: what is blamed, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from capexplorer import wording
from capexplorer.analysis.causes.episode import Occurrence
from capexplorer.analysis.causes.episodes import Episodes
from capexplorer.model.events import Ended, EndpointTick, Event, Header, HostFacts, LevelClosed, LevelOpened, Target, TargetFacts
from capexplorer.model.figures import LevelFigures

from ..seconds import (
    ERROR_500,
    FACTS,
    FILES_TOLD,
    HOST,
    LINUX,
    NO_FILE,
    NO_NAME,
    NO_PORT,
    NO_PORT_BOUND,
    NOT_CONNECTED,
    NOTHING_READ,
    REFUSED,
    RESET,
    TIMED_OUT,
    failed,
    generator,
    ports,
    second,
    seconds,
    standing,
    target,
    tcp,
    watched,
)

TW, EST = "ephemeral_port_exhaustion_time_wait", "ephemeral_port_exhaustion_established"

STARVED = {"generator": generator(cpu_ratio=0.6, run_delay_ratio=0.38, loop_lag_p99_ms=60.0)["generator"]}
CLOSED_IDLE = failed("HTTPConnectionClosed", reused=True, count=1)
HANGS_UP = failed("HTTPConnectionClosed", reused=False, count=150)
WAITS = {"waits": 10, "wait_sum_s": 10.0}
WORK = EndpointTick(name="/a", requests=100, latency_sum_ms=1000.0)


def died(t_s: float, **how: Any) -> Target:
    return Target(t_s=t_s, state="died", pid=4711, **how)


def ended(t_s: float, users: int, **figures: Any) -> LevelClosed:
    """A level with a load thread that had time to spare."""
    found = LevelFigures(settled=True, requests=1000, wait_s=0.0, users_mean=float(users), generator_cpu_ratio=0.3, **figures)
    return LevelClosed(t_s=t_s, index=0, users=users, started_s=1.0, figures=found)


BLAMED: list[tuple[str, list[Event], dict[str, str]]] = [
    # the generator and its host
    ("ports that wait to be free", seconds(2, 5, NO_PORT, **ports(used=28_232, time_wait=28_000, established=200)),
     {TW: "critical"}),
    ("ports in use", seconds(2, 5, NO_PORT, **ports(used=28_000, time_wait=10, established=27_990)), {EST: "critical"}),
    ("bound sources", seconds(2, 5, NO_PORT_BOUND, **ports(used=28_000, time_wait=27_000, established=9)), {TW: "critical"}),
    ("bound sources, destinations share them",
     seconds(2, 5, NO_PORT_BOUND, **ports(used=9000, time_wait=8000), **tcp(sockets_time_wait=28_000)), {TW: "critical"}),
    ("no address, and ports are left", seconds(2, 5, NO_PORT), {"unknown": "warning"}),
    ("ports that cannot be read, of few users", seconds(2, 5, NO_PORT, **NOTHING_READ), {TW: "critical"}),
    ("ports that cannot be read, of many users", seconds(2, 5, NO_PORT, **NOTHING_READ | {"users": 20_000}),
     {"unknown": "warning"}),
    ("requests that mostly fail connect anew: no churn", seconds(2, 20, failed("SSLError", count=60), connects=100),
     {"tls_handshake_failure": "critical"}),
    ("own descriptors", seconds(2, 5, NO_FILE, **generator(fds=1024)), {"fd_exhaustion_generator": "critical"}),
    ("a resolver without descriptors", seconds(2, 5, NO_NAME, **generator(fds=1020)), {"fd_exhaustion_generator": "critical"}),
    ("a resolver on a full system", seconds(2, 5, NO_NAME, host=msgspec.structs.replace(HOST, fds=99_000)),
     {"fd_exhaustion_system": "critical"}),
    ("no name", seconds(2, 5, NO_NAME), {"dns_failure": "critical"}),
    ("tracked connections", seconds(2, 5, TIMED_OUT, host=msgspec.structs.replace(HOST, conntrack=1000)),
     {"conntrack_table_full": "critical"}),
    ("a starved generator", seconds(2, 9, **STARVED), {"generator_cpu_saturated": "critical"}),
    ("a loop without idle time", seconds(2, 9, **generator(cpu_ratio=0.98, run_delay_ratio=0.01)),
     {"generator_cpu_saturated": "critical"}),
    ("a busy loop beside an idle target",
     seconds(2, 9, **generator(cpu_ratio=0.96, run_delay_ratio=0.0), **target(cpu_ratio=0.2)),
     {"generator_cpu_saturated": "critical"}),
    ("a busy loop whose resolver threads hold its GIL, beside an idle target",
     seconds(2, 9, **generator(cpu_ratio=0.85, run_delay_ratio=0.0, process_cpu_ratio=1.13, screen_cpu_ratio=0.0,
                               recorder_cpu_ratio=0.02), **target(cpu_ratio=0.1)), {"generator_cpu_saturated": "critical"}),
    ("timeouts of a starved generator", seconds(2, 9, TIMED_OUT, **STARVED),
     {"generator_cpu_saturated": "critical", "unknown": "warning"}),
    ("a new connection for each request", seconds(2, 9, connects=101),
     {"connection_churn": "warning"}),
    ("a new connection for each request, since users close them",
     seconds(2, 9, connects=101, closed_by_service=0, closed_by_users=101), {"connection_churn": "warning"}),
    ("a new connection for each request, since each has a client of its own",
     seconds(2, 9, connects=101, closed_by_service=0, closed_by_users=0), {"connection_churn": "warning"}),
    ("a new connection for each request, since the service closes them",
     seconds(2, 9, connects=101, closed_by_service=100, closed_by_users=1), {"service_closes_connections": "warning"}),
    ("a client that tries and tries",
     seconds(2, 9, failed("HTTPConnectionClosed", reused=False, count=20), retried=(HANGS_UP,), connects=240),
     {"generator_retry_amplification": "warning", "connection_reset": "error"}),
    ("TIME_WAIT buckets", seconds(2, 3, **tcp(time_wait_overflows=40), connects=45), {"time_wait_bucket_overflow": "warning"}),
    ("TCP memory", seconds(2, 5, RESET, **tcp(aborts_on_memory=3)), {"tcp_memory_pressure": "warning"}),
    ("lost packets", seconds(2, 14, **tcp(own={"segments_retransmitted": 20})), {"packet_loss": "warning"}),
    ("lost packets, some of them before the listener",
     [second(2, **tcp(own={"segments_retransmitted": 20, "listen_drops": 4})),
      *seconds(3, 14, **tcp(own={"segments_retransmitted": 20}))], {"packet_loss": "warning"}),
    ("timeouts by lost packets", seconds(2, 5, TIMED_OUT, **tcp(own={"segments_retransmitted": 20})), {"packet_loss": "warning"}),
    # the target's life
    ("a crash", [*seconds(2, 5), second(6, RESET), died(6.1, exit_code=1), *seconds(7, 9, REFUSED, targets=())],
     {"target_crashed": "critical"}),
    ("a death before a tick tells of it", [*seconds(2, 5), died(5.5, exit_code=1), second(6, RESET)],
     {"target_crashed": "critical"}),
    ("a signal", [*seconds(2, 5), died(5.4, signal="SIGSEGV"), *seconds(6, 8, REFUSED)], {"target_killed_by_signal": "critical"}),
    ("SIGKILL", [*seconds(2, 5), died(5.4, signal="SIGKILL"), *seconds(6, 8, REFUSED)], {"target_killed_by_signal": "critical"}),
    ("SIGKILL by a shell's exit code", [*seconds(2, 5), died(5.4, exit_code=137), *seconds(6, 8)],
     {"target_killed_by_signal": "critical"}),
    ("out of memory", [*seconds(2, 5), died(5.4, signal="SIGKILL"), second(6, REFUSED, **target(alive=False, oom_kills=1))],
     {"target_oom_killed": "critical"}),
    ("a worker out of memory",
     [*seconds(2, 5), second(6, RESET, **target(processes_ended=1, ended_by={"SIGKILL": 1}, oom_kills=1))],
     {"target_oom_killed": "critical"}),
    ("a worker that was killed and replaced",
     [*seconds(2, 5), second(6, RESET), second(7, **target(processes_ended=1, processes_started=1)), *seconds(8, 10)],
     {"target_restarted": "error"}),
    ("resets, beside a helper process that ends in order every four seconds",
     [second(float(t_s), RESET, **target(processes_started=int(t_s % 4 == 0), processes_ended=int(t_s % 4 == 1),
                                         ended_by={"exit 0": 1} if t_s % 4 == 1 else {})) for t_s in range(2, 20)],
     {"connection_reset": "error"}),
    ("nobody listens",
     seconds(2, 9, failed("ConnectionRefusedError", errno=111, count=98),
             **target(listen_queue=None, listen_backlog=None), connects=100),
     {"connection_refused": "critical"}),
    # its limits, and the kernel's queues before it
    ("its descriptors, by timeouts", seconds(2, 5, TIMED_OUT, **target(fds_fullest=1020, listen_queue=40)),
     {"fd_exhaustion_target": "critical"}),
    ("its descriptors, and nobody times out yet", seconds(2, 5, **target(fds_fullest=1024, listen_queue=40)),
     {"fd_exhaustion_target": "critical"}),
    ("its descriptors, by its own word", seconds(2, 5, FILES_TOLD, **target(fds_fullest=1020)),
     {"fd_exhaustion_target": "critical"}),
    ("its own word against its readings", seconds(2, 5, FILES_TOLD), {"task_failed_result": "error"}),
    ("its own word alone", seconds(2, 5, FILES_TOLD, **NOTHING_READ), {"task_failed_result": "error"}),
    ("a full accept queue", seconds(2, 5, NOT_CONNECTED, **target(listen_queue=129)), {"listen_backlog_overflow": "error"}),
    ("an accept queue that was full as the request began",
     [second(2, **target(listen_queue=129)), *seconds(3, 5), second(6, failed("ConnectTimedOut", name="/b"))],
     {"listen_backlog_overflow": "error"}),
    ("connections that its listener dropped",
     seconds(2, 5, TIMED_OUT, **tcp(listen_overflows=7, listen_drops=7, own={"listen_drops": 7})),
     {"listen_backlog_overflow": "error"}),
    ("the same, and connections a second late",
     seconds(2, 5, **tcp(listen_overflows=7, listen_drops=7, own={"listen_drops": 7}), max_ms=1030.0),
     {"listen_backlog_overflow": "error"}),
    ("overflows in the target's own namespace, while its queue was not empty",
     seconds(2, 5, TIMED_OUT, **target(listen_queue=9, listen_backlog=None), **tcp(listen_overflows=7)),
     {"listen_backlog_overflow": "error"}),
    ("overflows in an old log, while its queue was nearly full",
     seconds(2, 5, TIMED_OUT, **target(listen_queue=90), **tcp(listen_overflows=7, target=None)),
     {"listen_backlog_overflow": "error"}),
    ("a full SYN queue", seconds(2, 5, TIMED_OUT, **tcp(passive_opens=100, syncookies_sent=50, own={"half_open": 128})),
     {"syn_queue_overflow": "warning"}),
    # what is left
    ("a target that stalls", seconds(2, 5, TIMED_OUT), {"unknown": "warning"}),
    ("a target that stalls with all its descriptors taken, and accepts", seconds(2, 5, TIMED_OUT, **target(fds_fullest=1024)),
     {"unknown": "warning"}),
    ("timeouts without readings", seconds(2, 5, TIMED_OUT, **NOTHING_READ), {"unknown": "warning"}),
    ("resets", seconds(2, 5, RESET), {"connection_reset": "error"}),
    ("resets beneath a client's retries", seconds(2, 5, retried=(RESET,)), {"connection_reset": "error"}),
    ("idle connections that close as they are used", [*seconds(2, 5, **WAITS), second(6, CLOSED_IDLE, **WAITS)],
     {"keepalive_race": "warning"}),
    ("the same, repeated in silence", [*seconds(2, 5, **WAITS), second(6, retried=(CLOSED_IDLE,), **WAITS)],
     {"keepalive_race": "info"}),
    ("connections that close though nobody lets them idle", seconds(2, 5, CLOSED_IDLE, waits=0, wait_sum_s=0.0),
     {"connection_reset": "error"}),
    ("connections that break at random after short waits, and few are fresh",
     seconds(2, 5, failed("HTTPConnectionClosed", reused=True), waits=95, wait_sum_s=19.0, connects=5),
     {"connection_reset": "error"}),
    ("the same, while so many fresh ones do not break",
     seconds(2, 29, failed("HTTPConnectionClosed", reused=True), waits=95, wait_sum_s=19.0, connects=20),
     {"keepalive_race": "warning"}),
    ("fresh connections break as well",
     [second(2, failed("RemoteDisconnected", reused=False), **WAITS), second(3, CLOSED_IDLE, **WAITS)],
     {"connection_reset": "error"}),
    # what HTTP and checks say
    ("500", seconds(2, 5, ERROR_500), {"server_error": "error"}),
    ("500 beside a starved generator", seconds(2, 9, ERROR_500, **STARVED),
     {"generator_cpu_saturated": "critical", "server_error": "error"}),
    ("503", seconds(2, 5, failed("LocustBadStatusCode", status=503)), {"load_shedding": "warning"}),
    ("a check", seconds(2, 5, failed("CatchResponseError", text="lost_updates")), {"failed_check": "error"}),
    ("a cut reply", seconds(2, 5, failed("IncompleteRead")), {"incomplete_response": "error"}),
    ("something else", seconds(2, 5, failed("Surprise")), {"unknown": "warning"}),
]  # fmt: skip


@pytest.mark.parametrize(("why", "events", "expected"), BLAMED, ids=[why for why, _, _ in BLAMED])
def test_late_timers_or_lost_time_with_a_busy_thread_is_saturation(
    why: str, events: list[Event], expected: dict[str, str]
) -> None:
    marks = watched([*events, Ended(t_s=60.0, reason="quit")])
    assert {found: mark.severity for found, mark in standing(marks).items()} == expected


RESTART: list[Event] = [
    *seconds(2, 5),
    Target(t_s=5.2, state="stopping", pid=4711),
    second(6, RESET, REFUSED),
    Target(t_s=6.5, state="stopped", signal="SIGTERM"),
    Target(t_s=6.5, state="starting"),
    second(7, REFUSED, targets=()),
    Target(t_s=7.6, state="ready", pid=4800),
    second(8, RESET, **target(pid=4800, processes_started=3)),
    *seconds(9, 20, **target(pid=4800)),
]

HEALTHY: list[tuple[str, Sequence[Event]]] = [
    ("a quiet run", seconds(2, 40)),
    ("nobody", seconds(2, 20, users=0, endpoints=(), waits=0, wait_sum_s=0.0)),
    ("nothing that can be read", seconds(2, 20, **NOTHING_READ)),
    ("a restart that we asked for", RESTART),
    ("a stop that we asked for", [*seconds(2, 5), Target(t_s=5.5, state="stopping"), second(6, RESET, TIMED_OUT),
                                  Target(t_s=6.2, state="stopped", signal="SIGKILL")]),
    ("many users at once", [*seconds(2, 4, connects=500, settled=False), *seconds(5, 20)]),
    ("a few users who open a connection each time", seconds(2, 20, connects=9)),
    ("segments sent again on a machine without an idle core",
     seconds(2, 20, host=msgspec.structs.replace(HOST, cpu_ratio=float(FACTS.cpus or 0)),
             **tcp(own={"segments_retransmitted": 20}))),
    ("a neighbour that opens connections", seconds(2, 20, **tcp(active_opens=900))),
    ("a neighbour that opens as many as we ask", seconds(2, 20, **tcp(active_opens=100))),
    ("a neighbour whose queue overflows", seconds(2, 20, **tcp(listen_overflows=10, listen_drops=10))),
    ("a neighbour whose queue overflows, as connections are late",
     seconds(2, 20, **target(listen_queue=9), **tcp(listen_overflows=10, listen_drops=10), max_ms=1030.0)),
    ("a neighbour that loses packets",
     seconds(2, 30, **tcp(segments_sent=14_377, segments_retransmitted=524))),
    ("a neighbour whose dropped connections are sent again when nothing overflows any more",
     [*seconds(2, 9, **tcp(listen_overflows=50, segments_retransmitted=50)), *seconds(10, 30, **tcp(segments_retransmitted=50))]),
    ("a neighbour that is flooded", seconds(2, 20, **tcp(passive_opens=100, syncookies_sent=90, own={"half_open": 2}))),
    ("a neighbour without room for TIME_WAIT", seconds(2, 20, **tcp(time_wait_overflows=60), connects=5)),
    ("a neighbour that the kernel gives up for want of memory", seconds(2, 20, **tcp(aborts_on_memory=3))),
    ("a neighbour that ran out of memory", seconds(2, 20, **target(oom_kills=1))),
    ("a burst of lateness", [*seconds(2, 5), *seconds(6, 7, **STARVED), *seconds(8, 30)]),
    ("a busy loop that keeps up", seconds(2, 30, **generator(cpu_ratio=0.96, run_delay_ratio=0.0), **target(cpu_ratio=1.0))),
    ("late timers alone", seconds(2, 30, **generator(loop_lag_p99_ms=90.0))),
    ("late timers, and users that lose more than these can explain",
     seconds(2, 30, waits=9, wait_sum_s=0.9, **generator(loop_lag_p99_ms=40.0), users=30)),
    ("users that are busy elsewhere", seconds(2, 30, wait_sum_s=1.0)),
    ("users that sleep in their task, beside late timers",
     seconds(2, 30, users=20, waits=100, wait_sum_s=0.0, **generator(cpu_ratio=0.14, run_delay_ratio=0.23, loop_lag_p99_ms=28.0),
             endpoints=(msgspec.structs.replace(WORK, requests=227, latency_sum_ms=24.0 * 227),))),
    ("the same on a busy loop that keeps up, as at low load",
     [*seconds(2, 20, users=5, waits=100, wait_sum_s=0.0,
               endpoints=(msgspec.structs.replace(WORK, requests=62, latency_sum_ms=20.0 * 62),)),
      ended(20.5, users=5, throughput_rps=62.0, response_ms=20.0),
      *seconds(21, 40, level=1, users=75, waits=100, wait_sum_s=0.0, **target(cpu_ratio=1.0),
               **generator(cpu_ratio=0.96, run_delay_ratio=0.0, loop_lag_p99_ms=16.0),
               endpoints=(msgspec.structs.replace(WORK, requests=930, latency_sum_ms=20.0 * 930),))]),
    ("a stall, and late timers", seconds(2, 20, endpoints=(), waits=0, wait_sum_s=0.0, **generator(loop_lag_p99_ms=50.0))),
    ("processes that come and go", seconds(2, 30, **target(processes_started=4, processes_ended=4))),
    ("a few segments sent again", seconds(2, 30, **tcp(segments_retransmitted=1, segments_sent=40))),
    ("threads of the generator's at work outside the GIL, beside a loop that has time to spare",
     seconds(2, 20, **generator(cpu_ratio=0.5, process_cpu_ratio=1.6, screen_cpu_ratio=0.0, recorder_cpu_ratio=0.02),
             **target(cpu_ratio=0.1))),
    ("a busy loop and its threads, keeping up with a busy target",
     seconds(2, 20, **generator(cpu_ratio=0.85, process_cpu_ratio=1.13, screen_cpu_ratio=0.0, recorder_cpu_ratio=0.02),
             **target(cpu_ratio=1.6))),
    ("a full port range that nobody needs", seconds(2, 20, **ports(used=28_232, time_wait=28_222))),
    ("all descriptors taken, none wanted", seconds(2, 20, **target(fds_fullest=1024))),
]  # fmt: skip


@pytest.mark.parametrize(("why", "events"), HEALTHY, ids=[why for why, _ in HEALTHY])
def test_a_generator_that_keeps_up_is_not_saturated(why: str, events: Sequence[Event]) -> None:
    assert watched([*events, Ended(t_s=60.0, reason="quit")]) == []


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_not_blamed(seed: int) -> None:
    """Ten minutes of a healthy service on a busy machine: steps, restarts with other parameters, bursts of lateness."""
    random = np.random.default_rng(seed)
    events: list[Event] = []
    for t_s in range(2, 600):
        if t_s % 30 == 0:
            events.append(LevelOpened(t_s=float(t_s), index=t_s // 30, users=10, spawn_rate=9.0, by="user", epoch=t_s // 120))
        if t_s % 120 == 0:
            events += [Target(t_s=t_s + 0.1, state="stopping"), Target(t_s=t_s + 0.9, state="ready", pid=t_s)]
        busy = random.beta(2, 3)
        settled = t_s % 30 > 4
        down = t_s % 120 == 1
        events.append(
            second(
                float(t_s),
                *([RESET, TIMED_OUT] if down else []),
                level=t_s // 30,
                settled=settled,
                **generator(
                    cpu_ratio=0.7 * busy, run_delay_ratio=0.25 * random.random(), loop_lag_p99_ms=random.lognormal(1.5, 1.0)
                ),
                **target(
                    cpu_ratio=random.random(), listen_queue=int(random.poisson(1)), fds_fullest=30 + int(random.poisson(10))
                ),
                connects=int(random.poisson(1 if settled else 100)),
                **tcp(
                    segments_sent=900 + int(random.poisson(100)),
                    segments_retransmitted=int(random.poisson(1)),
                    listen_overflows=int(random.random() < 0.02),
                    resets_sent=int(random.poisson(3)),
                ),
            )
        )
    assert watched(events) == []


NOT_OURS = msgspec.structs.replace(LINUX, target=TargetFacts(name="served", url="http://127.0.0.1:28080"))
ALL_REFUSED = failed("ConnectionRefusedError", errno=111, count=100)
GONE: dict[str, Any] = target(alive=False, listen_queue=None, listen_backlog=None)


def ends(**how: int) -> dict[str, Any]:
    return target(alive=False, listen_queue=None, listen_backlog=None, processes_ended=1, ended_by=how)


@pytest.mark.parametrize(
    ("why", "end", "expected", "reported"),
    [
        ("by a signal", ends(SIGSEGV=1), "target_killed_by_signal", {"signal": "SIGSEGV"}),
        ("by SIGKILL", ends(SIGKILL=1), "target_killed_by_signal", {"signal": "SIGKILL"}),
        ("by SIGKILL for want of memory", target(alive=False, processes_ended=1, ended_by={"SIGKILL": 1}, oom_kills=1),
         "target_oom_killed", {"oom_kills": 1}),
        ("by itself", ends(**{"exit 3": 1}), "target_crashed", {"exit_code": 3}),
        ("in order", ends(**{"exit 0": 1}), "connection_refused", {"target_alive": False}),
        ("in a way that nobody tells", ends(), "connection_refused", {"target_alive": False}),
    ],
)  # fmt: skip
def test_a_service_that_ran_before_us_ended(why: str, end: dict[str, Any], expected: str, reported: dict[str, Any]) -> None:
    down = [second(6, failed("ConnectionResetError", errno=104, count=9), **end), *seconds(7, 12, ALL_REFUSED, **GONE)]
    marks = watched([*seconds(2, 5), *down], header=NOT_OURS)
    [mark] = [mark for mark in standing(marks).values() if mark.id != "connection_reset"]
    assert (mark.id, mark.state) == (expected, "updated") or (mark.id, mark.state) == (expected, "open")
    assert reported.items() <= mark.finding.figures().items()


def test_a_death_of_a_service_that_ran_before_us_has_ended_when_requests_succeed_again() -> None:
    events = [*seconds(2, 5), second(6, RESET, **ends(SIGKILL=1)), *seconds(7, 12, ALL_REFUSED, **GONE), *seconds(13, 20, **GONE)]
    marks = watched(events, header=NOT_OURS)
    assert [(mark.id, mark.state) for mark in marks][-1] == ("target_killed_by_signal", "closed")
    assert set(standing(marks)) == {"target_killed_by_signal"}


def test_a_worker_of_a_service_that_ran_before_us_is_not_its_end() -> None:
    events = [*seconds(2, 5), second(6, RESET, **ends(SIGKILL=1)), *seconds(7, 20, **GONE)]
    assert not {"target_killed_by_signal", "target_crashed"} & set(standing(watched(events, header=NOT_OURS)))


# -- how it is reported


def test_a_mark_carries_counts_endpoints_an_example_and_readings() -> None:
    full = ports(used=28_200, time_wait=28_000, established=200)
    bursts = [second(2, NO_PORT, **full), second(3, NO_PORT, failed("OSError", errno=99, name="/b", count=2), **full)]
    marks = watched([*bursts, Ended(t_s=4.0, reason="quit")])
    assert [(mark.key, mark.state, mark.revision, mark.users, mark.kind) for mark in marks] == [
        (f"cause:{TW}:epoch0", "open", 1, 10, "cause"),
        (f"cause:{TW}:epoch0", "updated", 2, 10, "cause"),
    ]
    assert marks[-1].finding.figures() == {
        "count": 12, "first_s": 2.0, "last_s": 3.0, "rate_per_s": 6.0, "endpoints": {"GET /a": 10, "GET /b": 2},
        "example": "Cannot assign requested address", "ports_used": 28_200, "ports_capacity": 28_232, "time_wait": 28_000,
        "established": 200, "destination": "127.0.0.1:28080", "unavailable": [], "competing": [],
    }  # fmt: skip
    assert marks[-1].confidence == "high" and "tcp_tw_reuse" in wording.advice(marks[-1].finding, LINUX)


def test_an_example_is_one_failure_in_full_also_where_a_later_tick_opens_the_mark() -> None:
    lost = failed("CatchResponseError", text="lost_updates")
    full = msgspec.structs.replace(lost, example="lost_updates: expected 90, read 60")
    [mark] = watched([second(2, full), second(3, lost)])
    assert (mark.finding.figures()["example"], mark.finding.figures()["check"]) == (
        "lost_updates: expected 90, read 60",
        "lost_updates",
    )
    reset = msgspec.structs.replace(RESET, example="[Errno 104] Connection reset by peer")
    [mark] = watched([second(2, reset), second(3), second(4)])
    assert mark.finding.figures()["example"] == "[Errno 104] Connection reset by peer"


def test_advice_on_a_limit_set_by_the_session_names_the_sessions_option() -> None:
    own = Header(
        t_s=0.0, schema=1, id="x", started_at="", target=TargetFacts(name="x", url="http://127.0.0.1:1"),
        host=HostFacts(system="Linux"), profile={"limits": {"network": {"tcp_tw_reuse": 0}}},
    )  # fmt: skip
    full = ports(used=28_200, time_wait=28_000, established=200)
    [*_, mark] = watched([second(2, NO_PORT, **full)])
    advice = [wording.advice(mark.finding, header) for header in (LINUX, own)]
    assert "`sysctl -w net.ipv4.tcp_tw_reuse=1`" in advice[0] and "--limit" not in advice[0]
    assert "`--limit network.tcp_tw_reuse=1`" in advice[1] and "sysctl" not in advice[1]


def test_churn_that_ends_in_exhausted_ports_is_not_a_alternative_to_it() -> None:
    episodes, seen = Episodes(), Occurrence(t_s=1.0, users=10)
    for id_ in ("connection_churn", "server_error", TW):
        episodes.add(id_, 0, seen)
    reported = {mark.id: mark.finding.figures()["competing"] for mark in episodes.news(1.0, 10)}
    assert reported == {"connection_churn": [], "server_error": [TW], TW: []}


@pytest.mark.parametrize(
    ("why", "events", "within_s"),
    [
        ("one failure says it all", [second(2, ERROR_500)], 0.0),
        ("readings confirm it", [second(2, TIMED_OUT, **target(listen_queue=200))], 0.0),
        ("nothing confirms it", [second(2, RESET), second(3)], 1.0),
        ("a death, by its exit code", [died(1.5, exit_code=1), second(2)], 0.5),
        ("a death, by the kernel's count", [died(1.5, signal="SIGKILL"), second(2), second(3)], 1.5),
    ],
)
def test_marks_come_while_it_happens(why: str, events: list[Event], within_s: float) -> None:
    happened_s = 1.5 if isinstance(events[0], Target) else 2.0
    [mark] = watched(events)
    assert mark.t_s - happened_s == within_s


def test_a_journal_stays_readable_and_the_last_count_is_exact() -> None:
    marks = watched([*seconds(2, 601, ERROR_500), *seconds(602, 640)])
    assert [mark.state for mark in (marks[0], marks[-1])] == ["open", "closed"]
    assert len(marks) < 25 and {mark.state for mark in marks[1:-1]} == {"updated"}
    gaps = [later.t_s - earlier.t_s for earlier, later in zip(marks, marks[1:-1], strict=False)]
    assert min(gaps) >= 10.0
    assert marks[-1].finding.figures()["count"] == 3000 and marks[-1].finding.figures()["last_s"] == 601.0


def test_a_cause_closes_when_it_stops_and_reopens_when_it_recurs() -> None:
    marks = watched([*seconds(2, 5, ERROR_500), *seconds(6, 29), *seconds(30, 31, ERROR_500), *seconds(32, 50)])
    assert [(mark.state, mark.t_s) for mark in marks] == [
        ("open", 2.0), ("updated", 12.0), ("closed", 15.0), ("open", 30.0), ("closed", 41.0),
    ]  # fmt: skip
    assert marks[-1].finding.figures()["count"] == 30 and marks[-1].finding.figures()["episodes"] == 2
    assert (marks[-1].finding.figures()["first_s"], marks[-1].finding.figures()["since_s"]) == (2.0, 30.0)


def test_it_closes_sooner_once_users_stepped_down() -> None:
    marks = watched([*seconds(2, 5, ERROR_500), *seconds(6, 20, users=5)])
    assert marks[-1].state == "closed" and marks[-1].t_s == 10.0


def test_failures_that_are_far_apart_are_one_episode() -> None:
    rare = [second(float(t_s), *([ERROR_500] if t_s % 8 == 0 else [])) for t_s in range(2, 100)]
    assert [mark.state for mark in watched(rare)].count("closed") == 0


def test_a_death_lasts_until_the_target_is_there_again() -> None:
    gone = [died(5.5, exit_code=3, output=("Traceback", "KeyError: 1")), *seconds(6, 30, REFUSED), *seconds(31, 60)]
    marks = watched(
        [*seconds(2, 5), *gone, Target(t_s=60.2, state="starting"), Target(t_s=61.0, state="ready"), *seconds(62, 70)]
    )
    assert (marks[0].state, marks[-1].state, marks[-1].t_s) == ("open", "closed", 62.0)
    assert set(standing(marks)) == {"target_crashed"}
    assert marks[-1].finding.figures()["failures"] == 125 and marks[-1].finding.figures()["deaths"] == 1
    assert (marks[-1].finding.figures()["exit_code"], marks[-1].finding.figures()["output"]) == (3, "Traceback / KeyError: 1")


def test_hidden_failures_count_towards_the_cause() -> None:
    [mark] = watched([second(2, retried=(RESET,)), second(3)])
    assert mark.finding.figures()["count"] == mark.finding.figures()["retried"] == 5


def test_readings_that_could_not_be_taken_are_named() -> None:
    marks = watched([*seconds(2, 4, TIMED_OUT, **NOTHING_READ)])
    assert set(marks[-1].finding.figures()["unavailable"]) >= {
        "target_fds",
        "listen_queue",
        "listen_overflows",
        "segments_retransmitted",
    }
    assert marks[-1].finding.figures()["symptoms"] == {"read_timeout": 5} and marks[-1].confidence == "low"


def test_simultaneous_causes_name_each_other() -> None:
    found = standing(watched(seconds(2, 30, ERROR_500, **STARVED)))
    assert found["server_error"].finding.figures()["competing"] == ["generator_cpu_saturated"]
    assert found["generator_cpu_saturated"].finding.figures()["competing"] == []
    both = seconds(2, 5, TIMED_OUT, **target(listen_queue=200, fds_fullest=1024))
    [mark] = watched(both)
    assert mark.id == "fd_exhaustion_target" and mark.finding.figures()["competing"] == ["listen_backlog_overflow"]


def test_checks_are_distinguished_by_name() -> None:
    many = [second(float(2 + each), failed("CatchResponseError", text=f"check_{each}")) for each in range(30)]
    keys = {mark.key for mark in watched(many)}
    assert "cause:failed_check:check_3:epoch0" in keys and "cause:failed_check:others:epoch0" in keys and len(keys) == 21


def test_each_epoch_has_its_own_marks() -> None:
    later = LevelOpened(t_s=6.0, index=1, users=10, spawn_rate=1.0, by="user", epoch=1)
    marks = watched([*seconds(2, 5, ERROR_500), later, *seconds(7, 8, ERROR_500)])
    assert [(mark.key, mark.state) for mark in marks] == [
        ("cause:server_error:epoch0", "open"),
        ("cause:server_error:epoch0", "closed"),
        ("cause:server_error:epoch1", "open"),
    ]
    assert marks[1].finding.figures()["count"] == 20


def test_advice_is_for_the_generators_system() -> None:
    windows = msgspec.structs.replace(LINUX, host=msgspec.structs.replace(FACTS, system="Windows"))
    [mark] = watched(seconds(2, 4, failed("OSError", errno=10048), **NOTHING_READ), header=windows)
    assert mark.id == TW and "netsh" in wording.advice(mark.finding, windows) and mark.confidence == "low"
    assert mark.finding.figures()["unavailable"] == ["ports_used", "ports_capacity"]

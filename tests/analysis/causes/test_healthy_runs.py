"""Sequences of events that resemble a cause but have none: no mark is made."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from capexplorer.model.events import Ended, Event, LevelOpened, Target

from ..seconds import (
    FACTS,
    HOST,
    NOTHING_READ,
    REFUSED,
    RESET,
    STARVED_GENERATOR,
    TIMED_OUT,
    WORK,
    cause_marks,
    generator,
    level_closed,
    ports,
    second,
    seconds,
    target,
    tcp,
)

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
    ("no users", seconds(2, 20, users=0, endpoints=(), waits=0, wait_sum_s=0.0)),
    ("nothing that can be read", seconds(2, 20, **NOTHING_READ)),
    ("a restart that a person requested", RESTART),
    ("a stop that a person requested", [*seconds(2, 5), Target(t_s=5.5, state="stopping"), second(6, RESET, TIMED_OUT),
                                  Target(t_s=6.2, state="stopped", signal="SIGKILL")]),
    ("many users at once", [*seconds(2, 4, connects=500, settled=False), *seconds(5, 20)]),
    ("a few users who open a connection each time", seconds(2, 20, connects=9)),
    ("segments sent again on a machine without an idle core",
     seconds(2, 20, host=msgspec.structs.replace(HOST, cpu_ratio=float(FACTS.cpus or 0)),
             **tcp(own={"segments_retransmitted": 20}))),
    ("another process that opens connections", seconds(2, 20, **tcp(active_opens=900))),
    ("another process that opens as many connections as users send requests", seconds(2, 20, **tcp(active_opens=100))),
    ("another process whose queue overflows", seconds(2, 20, **tcp(listen_overflows=10, listen_drops=10))),
    ("another process whose queue overflows, as connections are late",
     seconds(2, 20, **target(listen_queue=9), **tcp(listen_overflows=10, listen_drops=10), max_ms=1030.0)),
    ("another process that loses packets",
     seconds(2, 30, **tcp(segments_sent=14_377, segments_retransmitted=524))),
    ("another process whose dropped connections are sent again when nothing overflows any more",
     [*seconds(2, 9, **tcp(listen_overflows=50, segments_retransmitted=50)), *seconds(10, 30, **tcp(segments_retransmitted=50))]),
    ("another process that receives a SYN flood", seconds(2, 20,
     **tcp(passive_opens=100, syncookies_sent=90, own={"half_open": 2}))),
    ("another process without room for TIME_WAIT", seconds(2, 20, **tcp(time_wait_overflows=60), connects=5)),
    ("another process whose connections the kernel aborts for lack of memory", seconds(2, 20, **tcp(aborts_on_memory=3))),
    ("another process that ran out of memory", seconds(2, 20, **target(oom_kills=1))),
    ("late timers for two seconds", [*seconds(2, 5), *seconds(6, 7, **STARVED_GENERATOR), *seconds(8, 30)]),
    ("a busy loop that keeps up", seconds(2, 30, **generator(cpu_ratio=0.96, run_delay_ratio=0.0), **target(cpu_ratio=1.0))),
    ("late timers alone", seconds(2, 30, **generator(loop_lag_p99_ms=90.0))),
    ("late timers, and users that lose more than these can explain",
     seconds(2, 30, waits=9, wait_sum_s=0.9, **generator(loop_lag_p99_ms=40.0), users=30)),
    ("users that spend time in their own code", seconds(2, 30, wait_sum_s=1.0)),
    ("users that sleep in their task, beside late timers",
     seconds(2, 30, users=20, waits=100, wait_sum_s=0.0, **generator(cpu_ratio=0.14, run_delay_ratio=0.23, loop_lag_p99_ms=28.0),
             endpoints=(msgspec.structs.replace(WORK, requests=227, latency_sum_ms=24.0 * 227),))),
    ("the same on a busy loop that keeps up, as at low load",
     [*seconds(2, 20, users=5, waits=100, wait_sum_s=0.0,
               endpoints=(msgspec.structs.replace(WORK, requests=62, latency_sum_ms=20.0 * 62),)),
      level_closed(20.5, users=5, throughput_rps=62.0, response_ms=20.0),
      *seconds(21, 40, level=1, users=75, waits=100, wait_sum_s=0.0, **target(cpu_ratio=1.0),
               **generator(cpu_ratio=0.96, run_delay_ratio=0.0, loop_lag_p99_ms=16.0),
               endpoints=(msgspec.structs.replace(WORK, requests=930, latency_sum_ms=20.0 * 930),))]),
    ("no request for a while, and late timers", seconds(2, 20, endpoints=(), waits=0, wait_sum_s=0.0,
     **generator(loop_lag_p99_ms=50.0))),
    ("processes that come and go", seconds(2, 30, **target(processes_started=4, processes_ended=4))),
    ("a few segments sent again", seconds(2, 30, **tcp(segments_retransmitted=1, segments_sent=40))),
    ("threads of the generator's at work outside the GIL, beside a loop that has time to spare",
     seconds(2, 20, **generator(cpu_ratio=0.5, process_cpu_ratio=1.6, screen_cpu_ratio=0.0, recorder_cpu_ratio=0.02),
             **target(cpu_ratio=0.1))),
    ("a busy loop and its threads that keep up with a busy target",
     seconds(2, 20, **generator(cpu_ratio=0.85, process_cpu_ratio=1.13, screen_cpu_ratio=0.0, recorder_cpu_ratio=0.02),
             **target(cpu_ratio=1.6))),
    ("a full port range, and no failure", seconds(2, 20, **ports(used=28_232, time_wait=28_222))),
    ("all descriptors used, and no connection waits", seconds(2, 20, **target(fds_fullest=1024))),
]  # fmt: skip


@pytest.mark.parametrize(("why", "events"), HEALTHY, ids=[why for why, _ in HEALTHY])
def test_a_healthy_run_has_no_cause_mark(why: str, events: Sequence[Event]) -> None:
    assert cause_marks([*events, Ended(t_s=60.0, reason="quit")]) == []


@pytest.mark.parametrize("seed", range(20))
def test_ten_noisy_minutes_of_a_healthy_service_have_no_cause_mark(seed: int) -> None:
    """Ten minutes of a healthy service on a busy machine: steps, restarts with other parameters, seconds of late timers."""
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
    assert cause_marks(events) == []

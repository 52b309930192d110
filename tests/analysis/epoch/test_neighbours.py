"""Levels that other processes of the machine disturb: when a level is disturbed, and which of its figures are used."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.analysis.epoch.neighbours import NeighbourCheck, usable_levels
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed_events
from capexplorer.model.events import HostFacts
from capexplorer.model.figures import LevelFigures
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import open_session

from ..loads import FACTS, Load, closed_session

RECORDED = Path(__file__).parents[2] / "data" / "sessions" / "busy-neighbours.jsonl"
TWO_CORES = msgspec.structs.replace(FACTS, cpus=2)
ONE_THREAD = {"target.cpu_ratio": 0.83, "target.run_delay_ratio": 0.18, "target.busiest_thread_ratio": 0.82,
              "neighbours.cpu_ratio": 1.05, "host.cpu_ratio": 1.98}  # fmt: skip
"""Recorded: 20 users on a service of one CPU-bound thread, beside other processes."""


def is_disturbed(
    readings: dict[str, float], *, program: str = "node", host: HostFacts = TWO_CORES, in_flight: float = 4.2
) -> bool:
    figures = LevelFigures(settled=True, throughput_rps=100.0, response_ms=10.0 * in_flight, readings=readings)
    return NeighbourCheck(host, program).withheld(figures) is not None


DISTURBED = [
    ("one thread that wants the only core that it may use, on a machine with cores left",
     {"host.cpu_ratio": 0.95, "target.cpus_allowed": 1.0}, "node", 4.2),
    ("one thread that wants its core and waits for it", {}, "node", 4.2),
    ("a Python service, whose threads wait in turn",
     {"target.cpu_ratio": 0.32, "target.run_delay_ratio": 0.6, "target.busiest_thread_ratio": 0.1}, "python3", 4.2),
    ("four workers on two cores",
     {"target.cpu_ratio": 1.0, "target.run_delay_ratio": 2.4, "target.busiest_thread_ratio": 0.3, "target.processes": 5.0},
     "gunicorn", 4.2),
    ("requests whose whole time is spent on a core or waiting for one, at low load",
     {"target.cpu_ratio": 0.10, "target.run_delay_ratio": 0.06, "target.busiest_thread_ratio": 0.1}, "node", 0.15),
]  # fmt: skip


@pytest.mark.parametrize(("why", "readings", "program", "in_flight"), DISTURBED, ids=[each[0] for each in DISTURBED])
def test_a_level_is_disturbed_if_others_use_cpu_that_the_service_needs(
    why: str, readings: dict[str, float], program: str, in_flight: float
) -> None:
    assert is_disturbed(ONE_THREAD | readings, program=program, in_flight=in_flight)


UNDISTURBED = [
    ("others use 0.05 cores, whatever it waits for", {"neighbours.cpu_ratio": 0.05, "target.run_delay_ratio": 0.5}, 4.2),
    ("it does not wait for a core", {"target.run_delay_ratio": 0.02}, 4.2),
    ("it has its core, and its own threads wait for each other",
     {"target.cpu_ratio": 0.945, "target.run_delay_ratio": 0.79, "target.busiest_thread_ratio": 0.9}, 4.2),
    ("a rate limiter: its requests wait for no core", {"target.cpu_ratio": 0.04, "target.run_delay_ratio": 0.06}, 21.9),
    ("its CPU quota limits it", {"target.throttled_ratio": 0.2}, 4.2),
    ("a core of two is left, and it may run on both", {"host.cpu_ratio": 0.95}, 4.2),
    ("a pool in the service", {"target.cpu_ratio": 0.02, "target.run_delay_ratio": 0.09}, 1.2),
    ("many processes fill the machine themselves", {"target.cpu_ratio": 1.6, "target.run_delay_ratio": 4.0,
     "target.busiest_thread_ratio": 0.3, "target.processes": 5.0, "neighbours.cpu_ratio": 0.21}, 9.0),
]  # fmt: skip


@pytest.mark.parametrize(("why", "readings", "in_flight"), UNDISTURBED, ids=[each[0] for each in UNDISTURBED])
def test_other_processes_that_do_not_slow_the_service_disturb_no_level(
    why: str, readings: dict[str, float], in_flight: float
) -> None:
    assert not is_disturbed(ONE_THREAD | readings, in_flight=in_flight)


ONE_SLOT = {"target.cpu_ratio": 0.68, "target.run_delay_ratio": 0.76, "target.busiest_thread_ratio": 0.2,
            "neighbours.cpu_ratio": 1.28, "host.cpu_ratio": 1.98}  # fmt: skip
"""Measured: a Go service that serves one request at a time for 10 ms, on changing threads, beside another program."""


@pytest.mark.parametrize(
    ("why", "low_load_ms", "response_ms", "changes", "is_lowered"),
    [
        ("requests queue for one slot, which waits for a core", 10.0, 200.0, {}, True),
        ("no request queues: users wait longer by the waits for a core alone", 10.0, 20.0, {}, False),
        ("a pool of ten, whose requests wait for something else for most of their time", 130.0, 300.0, {}, False),
        (
            "a limiter, whose service needs little CPU",
            1.0,
            200.0,
            {"target.cpu_ratio": 0.1, "target.run_delay_ratio": 0.3},
            False,
        ),
        ("the response at low load is not known", None, 200.0, {}, False),
    ],
)
def test_a_service_of_one_slot_is_held_by_its_waits_for_a_core_on_whatever_thread(
    why: str, low_load_ms: float | None, response_ms: float, changes: dict[str, float], is_lowered: bool
) -> None:
    figures = LevelFigures(
        settled=True, throughput_rps=68.0, response_ms=response_ms, users_mean=34.0, readings={**ONE_SLOT, **changes}
    )
    withheld = NeighbourCheck(TWO_CORES, "shop", low_load_ms).withheld(figures)
    assert (withheld is not None and withheld.of_goodput) == is_lowered


OUTAGE = {"target.cpu_ratio": 0.048, "target.run_delay_ratio": 0.057, "target.busiest_thread_ratio": 0.0135,
          "target.processes": 1.0, "neighbours.cpu_ratio": 1.75, "host.cpu_ratio": 1.99}  # fmt: skip
"""Recorded: a proxy whose upstream is gone, so that it replies 502 after 3 ms to 99% of the requests of 20 users."""


@pytest.mark.parametrize("failure_ratio", [0.5, 0.99])
def test_the_short_times_of_failed_requests_do_not_show_that_the_service_needs_cpu(failure_ratio: float) -> None:
    figures = LevelFigures(
        settled=True, throughput_rps=66.7, response_ms=3.3, failure_ratio=failure_ratio, users_mean=20.0, readings=OUTAGE
    )
    assert NeighbourCheck(TWO_CORES, "shop").withheld(figures) is None


def test_a_failing_service_that_wants_all_of_its_cores_is_disturbed() -> None:
    figures = LevelFigures(
        settled=True, throughput_rps=100.0, response_ms=3.3, failure_ratio=0.99, users_mean=20.0, readings=ONE_THREAD
    )
    assert NeighbourCheck(TWO_CORES, "node").withheld(figures) is not None


def test_no_level_is_disturbed_if_the_cpu_of_other_processes_is_unknown() -> None:
    assert not is_disturbed({name: value for name, value in ONE_THREAD.items() if not name.startswith("neighbours.")})


def test_without_a_run_delay_a_level_is_disturbed_if_others_use_much_of_a_saturated_machine() -> None:
    unread = {name: value for name, value in ONE_THREAD.items() if name != "target.run_delay_ratio"}
    assert is_disturbed(unread)
    assert not is_disturbed(unread | {"host.cpu_ratio": 1.5})
    assert not is_disturbed(unread | {"neighbours.cpu_ratio": 0.4})


def level(users: float, goodput_rps: float, *, disturbed: bool = False) -> LadderLevel:
    return LadderLevel(
        users=users,
        goodput_rps=goodput_rps,
        goodput_se_rps=0.01 * goodput_rps,
        seconds=20.0,
        disturbed=disturbed,
        goodput_disturbed=disturbed,
    )


def test_a_disturbed_level_counts_only_if_it_lies_on_the_low_load_line() -> None:
    free = [level(2, 20), level(4, 40), level(8, 80)]
    on_line, below = level(12, 119, disturbed=True), level(16, 118, disturbed=True)
    assert usable_levels([*free, on_line, below]) == (*free, on_line)


def test_if_all_levels_are_disturbed_their_own_line_is_used() -> None:
    disturbed = [
        level(2, 9.1, disturbed=True),
        level(4, 18.7, disturbed=True),
        level(9, 40.9, disturbed=True),
        level(20, 77.7, disturbed=True),
    ]
    assert usable_levels(disturbed) == tuple(disturbed[:3])


def test_a_disturbed_level_is_ignored_if_the_same_users_were_measured_undisturbed() -> None:
    free = [level(2, 20), level(4, 40), level(8, 80)]
    assert usable_levels([level(8, 79, disturbed=True), *free]) == tuple(free)


def test_all_undisturbed_levels_are_used() -> None:
    levels = (level(2, 20), level(4, 22))
    assert usable_levels(levels) == levels
    assert usable_levels(()) == ()


CLIMB = [Load(users, 10.0 * users, 50) for users in (2, 4, 8, 12)]
STARVED = {**ONE_THREAD, "neighbours.cpu_ratio": 1.3, "target.cpu_ratio": 0.5, "target.run_delay_ratio": 0.48,
           "target.busiest_thread_ratio": 0.5}  # fmt: skip


def test_a_plateau_caused_by_other_processes_gives_no_knee_and_no_latency_knee() -> None:
    loads = [
        *CLIMB,
        Load(16, 118, 120, readings=STARVED),
        Load(24, 119, 190, readings=STARVED),
        Load(32, 120, 250, readings=STARVED),
    ]
    disturbed = epoch_of(closed_session(*loads, host=TWO_CORES), 0).verdict
    assert disturbed is not None
    assert disturbed.capacity.knee is not None
    assert (disturbed.capacity.knee.kind, disturbed.capacity.knee.users) == ("no_knee", 12)
    assert disturbed.capacity.latency_knee is None
    assert (disturbed.disturbed_levels, disturbed.left_out_levels) == ((4, 5, 6), (4, 5, 6))
    alone = [Load(each.users, each.goodput_rps, each.latency_ms) for each in loads]
    found = epoch_of(closed_session(*alone, host=TWO_CORES), 0).verdict
    assert found is not None
    assert found.capacity.knee is not None
    assert found.capacity.knee.kind == "knee", "the same figures without other processes are a knee"


def test_a_knee_is_found_from_the_undisturbed_levels() -> None:
    plateau = [Load(users, 120, 1000 * users / 120 - 50) for users in (16, 24, 32)]
    loads = [*CLIMB, Load(10, 60, 120, readings=STARVED), *plateau]
    verdict = epoch_of(closed_session(*loads, host=TWO_CORES), 0).verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    assert verdict.capacity.knee.kind == "knee"
    assert verdict.capacity.knee.users == pytest.approx(12, rel=0.05)
    assert verdict.left_out_levels == (4,)


def test_a_disturbed_return_level_neither_contradicts_nor_fails_recovery() -> None:
    loads = [*CLIMB, *(Load(users, 120, 1000 * users / 120 - 50) for users in (16, 24)), Load(2, 19.9, 140, readings=STARVED)]
    epoch = epoch_of(closed_session(*loads, host=TWO_CORES), 0)
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.evidence.return_agrees is None


def test_a_recording_with_busy_neighbours_gives_no_knee_and_names_the_other_processes() -> None:
    with open_session(RECORDED) as reader:
        events = list(reader)
    found = Timeline(reanalysed_events(events, reanalyse_events(events), "now"))
    verdict = found.verdicts[0]
    assert verdict.capacity.knee is not None
    assert (verdict.capacity.knee.kind, verdict.capacity.knee.users) == ("no_knee", 14)
    assert verdict.left_out_levels == (5,)
    states = {mark.id: mark.state for mark in found.marks.values()}
    assert states == {"noisy_neighbours": "open", "think_time_limited": "closed"}


def test_a_disturbed_level_whose_requests_only_took_longer_keeps_its_goodput_but_not_its_latency() -> None:
    """Recorded: a task queue with 120 users, whose replies take 3 ms and wait for a core, while its workers keep up."""
    slower = {"target.cpu_ratio": 0.19, "target.run_delay_ratio": 0.18, "target.busiest_thread_ratio": 0.08,
              "neighbours.cpu_ratio": 1.35, "host.cpu_ratio": 1.65}  # fmt: skip
    figures = LevelFigures(settled=True, throughput_rps=19.0, response_ms=2.6, users_mean=120.0, readings=slower)
    withheld = NeighbourCheck(TWO_CORES, "python3").withheld(figures)
    assert withheld is not None
    assert not withheld.of_goodput
    below = LadderLevel(users=120, goodput_rps=19, seconds=20.0, disturbed=True)
    assert usable_levels([level(20, 4.0), level(40, 8.0), below])[-1] is below

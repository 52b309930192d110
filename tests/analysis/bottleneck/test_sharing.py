"""CPU that the service shares with the generator, the hypervisor and other processes."""

from __future__ import annotations

import pytest

from analysis.loads import Load

from .levels import LINEAR, TWO_CORES, UNREAD_TARGET, bottleneck_marks, overloaded, states_by_id

SHARED = [
    ("a third of a nearly full machine",
     {"generator.process_cpu_ratio": 1.3, "target.cpu_ratio": 2.2, "host.cpu_ratio": 3.6}, 0.36),
    ("a small share of it", {"generator.process_cpu_ratio": 0.2, "target.cpu_ratio": 3.4, "host.cpu_ratio": 3.7}, None),
    ("a third of a machine that has cores left",
     {"generator.process_cpu_ratio": 1.3, "target.cpu_ratio": 1.2, "host.cpu_ratio": 2.6}, None),
    ("a machine that other processes fill",
     {"generator.process_cpu_ratio": 0.5, "target.cpu_ratio": 1.0, "host.cpu_ratio": 3.9}, None),
    ("its CPU was not measured", {"target.cpu_ratio": 2.2, "host.cpu_ratio": 3.6}, None),
]  # fmt: skip


@pytest.mark.parametrize(("why", "readings", "share"), SHARED, ids=[each[0] for each in SHARED])
def test_the_generators_share_of_a_saturated_machine_is_reported(
    why: str, readings: dict[str, float], share: float | None
) -> None:
    marks = bottleneck_marks(*overloaded(readings | {"target.run_delay_ratio": 0.01}))
    assert ("generator_shares_host" in marks) == (share is not None)
    if share is not None:
        mark = marks["generator_shares_host"]
        assert mark.finding.figures()["generator_share_ratio"] == pytest.approx(share, abs=0.005)
        assert (mark.users, mark.confidence, mark.finding.figures().get("competing")) == (16, "high", None)
        assert [each.finding.figures().get("competing") for each in marks.values()] == [None] * len(marks)


STOLEN = {"target.cpu_ratio": 2.4, "target.run_delay_ratio": 1.8, "host.cpu_ratio": 3.2, "host.steal_ratio": 0.7}


def test_stolen_time_limits_a_service_that_waits_for_cores_on_a_full_machine() -> None:
    assert states_by_id(bottleneck_marks(*overloaded(STOLEN))) == {"cpu_steal": "open"}


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
    assert "cpu_steal" not in bottleneck_marks(*overloaded(STOLEN | changed, unread=unread))


def test_stolen_time_is_not_a_bottleneck_while_more_users_increase_goodput() -> None:
    assert "cpu_steal" not in bottleneck_marks(*LINEAR[:-1], Load(8, 78, 52, readings=STOLEN))


DISTURBED = {"host.cpu_ratio": 1.95, "target.cpu_ratio": 0.32, "target.run_delay_ratio": 0.6, "target.busiest_thread_ratio": 0.1,
        "target.cpus_allowed": 2.0, "neighbours.cpu_ratio": 1.6}  # fmt: skip
"""Measured: a Python service whose threads had 0.32 of the one core that they can use, beside two compilers."""


def test_at_a_level_that_other_processes_disturb_only_these_are_marked() -> None:
    marks = bottleneck_marks(
        *overloaded(DISTURBED, figures={"other_processes": {"cc1plus": 1.31, "chrome": 0.24}}), program="python3", host=TWO_CORES
    )
    assert states_by_id(marks) == {"noisy_neighbours": "open"}
    figures = marks["noisy_neighbours"].finding.figures()
    assert (figures["others_cpu_ratio"], figures["cores"], figures["processes"]) == (1.6, 2, "cc1plus 1.31, chrome 0.24")
    assert figures["target_run_delay_ratio"] == 0.6
    assert marks["noisy_neighbours"].severity == "warning"
    assert marks["noisy_neighbours"].users == 32, "the level with the most users"


def test_the_mark_of_other_processes_closes_if_they_have_ended_at_the_next_level() -> None:
    marks = bottleneck_marks(
        *LINEAR, Load(16, 100, 110, readings=DISTURBED), Load(16, 155, 55), program="python3", host=TWO_CORES
    )
    assert states_by_id(marks) == {"noisy_neighbours": "closed"}


def test_a_full_disk_is_named_at_a_level_that_other_processes_disturb() -> None:
    full = {**DISTURBED, "target.disk_free_bytes": 0.0}
    marks = bottleneck_marks(*LINEAR, Load(16, 100, 110, readings=full), program="python3", host=TWO_CORES)
    assert states_by_id(marks) == {"disk_full": "open", "noisy_neighbours": "open"}


def test_a_level_that_other_processes_disturb_closes_no_bottleneck_found_before() -> None:
    marks = bottleneck_marks(
        *overloaded({"target.cpu_ratio": 0.02}), Load(48, 60, 700, readings=DISTURBED), program="python3", host=TWO_CORES
    )
    assert states_by_id(marks) == {"lock_or_pool_limit": "open", "noisy_neighbours": "open"}

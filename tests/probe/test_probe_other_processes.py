"""Other processes of the machine: how much CPU they use, and by name whose it is. Snapshots as data, and a real one."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

from capexplorer.model.readings import NeighboursReading
from capexplorer.probe import other_processes, parse
from capexplorer.probe.other_processes import NeighboursProbe, Snapshot, busiest, snapshot

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
OWN, TARGET = 100, 200


def processes(at_s: float, **used_s: tuple[int, int, float, float]) -> Snapshot:
    """name=(pid, parent, CPU seconds, started at)."""
    found = {
        (pid, round(began_s * TICKS_PER_S)): parse.ProcessCpu(
            name, parent, round(cpu_s * TICKS_PER_S), round(began_s * TICKS_PER_S)
        )
        for name, (pid, parent, cpu_s, began_s) in used_s.items()
    }
    return Snapshot(at_s, found)


def test_the_three_names_that_used_most_are_given_in_cores() -> None:
    before = processes(10.0, chrome=(1, 0, 5.0, 1.0), cc1plus=(2, 0, 0.0, 9.0), sshd=(3, 0, 1.0, 1.0), cron=(4, 0, 1.0, 1.0))
    now = processes(14.0, chrome=(1, 0, 6.0, 1.0), cc1plus=(2, 0, 4.0, 9.0), sshd=(3, 0, 1.2, 1.0), cron=(4, 0, 1.1, 1.0))
    assert busiest(before, now, {OWN}) == {"cc1plus": 1.0, "chrome": 0.25, "sshd": 0.05}


def test_the_generator_the_target_and_their_children_are_not_neighbours() -> None:
    names = {"capexplorer": OWN, "supervisor": 101, "nginx": TARGET, "worker": 201, "chrome": 1}
    parents = {"supervisor": OWN, "worker": TARGET}
    before = processes(10.0, **{name: (pid, parents.get(name, 0), 0.0, 1.0) for name, pid in names.items()})
    now = processes(11.0, **{name: (pid, parents.get(name, 0), 0.5, 1.0) for name, pid in names.items()})
    assert busiest(before, now, {OWN, TARGET}) == {"chrome": 0.5}


def test_a_process_that_began_between_two_readings_counts_in_full_and_an_older_one_that_was_missed_does_not() -> None:
    before = processes(10.0)
    now = processes(12.0, cc1plus=(5, 0, 1.0, 11.0), missed=(6, 0, 300.0, 2.0))
    assert busiest(before, now, {OWN}) == {"cc1plus": 0.5}


def test_a_pid_that_was_given_to_another_process_is_another_process() -> None:
    before, now = processes(10.0, old=(5, 0, 9.0, 1.0)), processes(11.0, new=(5, 0, 0.5, 10.5))
    assert busiest(before, now, {OWN}) == {"new": 0.5}


@pytest.mark.parametrize(
    ("comm", "shown"),
    [("cc1plus", "cc1plus"), ("kworker/0:1-events", "kworker"), ("Web Content", "Web Content"), ("a\x1b[2Jb\nc", "a?[2Jb?c")],
)
def test_names_are_those_of_the_kernel_without_control_characters(comm: str, shown: str) -> None:
    assert parse.process_name(comm) == shown


def test_a_name_may_hold_brackets_and_spaces() -> None:
    rest = " ".join(["S", "7", *["0"] * 9, "30", "12", *["0"] * 6, "4711", "0"])
    found = parse.process_cpu(f"42 (a) b (c)) {rest}")
    assert found == parse.ProcessCpu(name="a) b (c)", parent=7, ticks=42, started_ticks=4711)
    assert parse.process_cpu(None) is None and parse.process_cpu("42 (short) S 7") is None


def test_cpu_of_all_but_generator_and_target_belongs_to_other_processes() -> None:
    probe = NeighboursProbe()
    assert probe.read(1.0, 0.5, [0.2, 0.2], TARGET).cpu_ratio == pytest.approx(0.1)
    assert probe.read(1.0, 0.3, [0.2, 0.2], TARGET).cpu_ratio == 0.0, "two clocks differ: never below nothing"


@pytest.mark.parametrize(("busy", "ours"), [(None, [0.1, 0.2]), (1.0, [0.1, None]), (1.0, [None, 0.2])])
def test_without_one_of_the_readings_other_processes_are_unknown(busy: float | None, ours: list[float | None]) -> None:
    assert NeighboursProbe().read(1.0, busy, ours, TARGET) == NeighboursReading()


def test_all_processes_are_read_only_while_others_use_much_and_then_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots: list[Snapshot] = []

    def counted() -> Snapshot:
        snapshots.append(processes(float(len(snapshots))))
        return snapshots[-1]

    monkeypatch.setattr(other_processes, "snapshot", counted)
    probe = NeighboursProbe()
    for _ in range(10):
        probe.read(1.0, 0.1, [0.0], None)
    assert not snapshots, "no snapshot while others use little CPU"
    for _ in range(10):
        probe.read(1.0, 1.5, [0.0], None)
    assert len(snapshots) == 4, "one at once, then one every three seconds"


def test_a_real_busy_process_is_named_with_about_the_cpu_that_it_used() -> None:
    spin = "import time\nwhile time.process_time() < 60: pass"
    with subprocess.Popen([sys.executable, "-c", spin]) as neighbour:
        try:
            before = snapshot()
            used = _cpu_s(neighbour.pid)
            while _cpu_s(neighbour.pid) < used + 0.3:
                time.sleep(0.05)
            now = snapshot()
            assert before is not None and now is not None
            everyone = busiest(before, now, set())
            own = now.processes[next(key for key in now.processes if key[0] == neighbour.pid)]
            assert everyone, "its child is somebody"
            assert busiest(before, now, {os.getpid()}).get(own.name, 0.0) < everyone.get(own.name, 9.0)
        finally:
            neighbour.kill()


def _cpu_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        found = parse.process_cpu(file.read())
    assert found is not None
    return found.ticks / TICKS_PER_S

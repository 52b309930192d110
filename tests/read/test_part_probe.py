"""How the probe of a part decides whether a process is still the selected one, when its id was given to another process."""

from __future__ import annotations

import pytest

from capexplorer.model.watched import PartSpec
from capexplorer.read.messages import RawReading
from capexplorer.read.part_probe import PartProbe


def raw_reading(pid: int, started_ticks: int, boot_s: float) -> RawReading:
    """A raw reading of one sleeping process, `boot_s` after the machine started. `started_ticks`: its start, in 1/100 s."""
    fields = ["S", "1", *["0"] * 17, str(started_ticks), "0", "100", *["0"] * 28]
    return RawReading(wall=0.0, boot=boot_s, pids=(pid,), files={f"/proc/{pid}/stat": f"{pid} (web) {' '.join(fields)}"})


def is_alive(probe: PartProbe, reading: RawReading) -> bool:
    """Whether the probe reports the selected process as alive."""
    found = probe.read(reading)
    return bool(found and found.target and found.target.alive)


def test_a_new_process_with_the_pid_of_the_selected_one_is_not_read() -> None:
    probe = PartProbe(PartSpec(name="web", pid=700))
    assert [is_alive(probe, raw_reading(700, 5_000, boot_s)) for boot_s in (100.0, 101.0)] == [False, True]
    assert not is_alive(probe, raw_reading(700, 10_150, 102.0))
    assert probe.facts.why == "process 700 has ended, and another one has its id now"
    assert probe.facts.pid is None


def test_the_start_time_of_the_selected_process_is_kept_over_connections() -> None:
    before = PartProbe(PartSpec(name="web", pid=700))
    before.read(raw_reading(700, 5_000, 100.0))
    after = PartProbe(PartSpec(name="web", pid=700), before.started_ticks)
    assert not any(is_alive(after, raw_reading(700, 10_150, boot_s)) for boot_s in (110.0, 111.0))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(PartSpec(name="web", port=80), id="port: the listener may have been started again"),
        pytest.param(PartSpec(name="web", at="docker exec -i web"), id="container: its first process always has id 1"),
    ],
)
def test_a_part_selected_by_port_or_container_follows_a_new_process(spec: PartSpec) -> None:
    probe = PartProbe(spec)
    for boot_s in (100.0, 101.0):
        probe.read(raw_reading(1, 5_000, boot_s))
    assert is_alive(probe, raw_reading(1, 10_150, 102.0))

"""Readings of a part from raw readings: which process they belong to."""

from __future__ import annotations

import pytest

from capexplorer.model.watched import PartSpec
from capexplorer.parts.part_probe import PartProbe
from capexplorer.parts.raw_reading import RawReading


def raw(pid: int, started_ticks: int, boot_s: float) -> RawReading:
    """A raw reading of one sleeping process."""
    fields = ["S", "1", *["0"] * 17, str(started_ticks), "0", "100", *["0"] * 28]
    return RawReading(wall=0.0, boot=boot_s, pids=(pid,), files={f"/proc/{pid}/stat": f"{pid} (web) {' '.join(fields)}"})


def is_alive(probe: PartProbe, reading: RawReading) -> bool:
    found = probe.read(reading)
    return bool(found and found.target and found.target.alive)


def test_a_process_that_got_the_id_of_the_selected_one_is_not_read() -> None:
    probe = PartProbe(PartSpec(name="web", pid=700))
    assert [is_alive(probe, raw(700, 5_000, boot_s)) for boot_s in (100.0, 101.0)] == [False, True]
    assert not is_alive(probe, raw(700, 10_150, 102.0))
    assert probe.facts.why == "process 700 has ended, and another one has its id now"
    assert probe.facts.pid is None


def test_a_new_connection_remembers_when_the_selected_process_began() -> None:
    before = PartProbe(PartSpec(name="web", pid=700))
    before.read(raw(700, 5_000, 100.0))
    after = PartProbe(PartSpec(name="web", pid=700), before.started_ticks)
    assert not any(is_alive(after, raw(700, 10_150, boot_s)) for boot_s in (110.0, 111.0))


@pytest.mark.parametrize(
    "watch",
    [
        pytest.param(PartSpec(name="web", port=80), id="port: the listener may have been started again"),
        pytest.param(PartSpec(name="web", at="docker exec -i web"), id="container: its first process always has id 1"),
    ],
)
def test_other_selections_follow_a_new_process(watch: PartSpec) -> None:
    probe = PartProbe(watch)
    for boot_s in (100.0, 101.0):
        probe.read(raw(1, 5_000, boot_s))
    assert is_alive(probe, raw(1, 10_150, 102.0))

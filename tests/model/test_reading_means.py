"""Readings of a level: means over the settled seconds in which they were measured."""

from __future__ import annotations

import pytest

from capexplorer.model.columns import total
from capexplorer.model.events import Sample
from capexplorer.model.reading_means import KEYS
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TargetReading, TcpReading

from .fold_samples import endpoint, folded, reading, second


def test_readings_are_means_of_the_seconds_in_which_they_were_measured_and_ports_the_greatest() -> None:
    figures = folded(
        second(1.0, host=HostReading(cpu_ratio=1.0), ports=PortsReading(used=10, capacity=100), tcp=TcpReading(sockets_in_use=4)),
        second(2.0, host=HostReading(cpu_ratio=2.0), ports=PortsReading(used=40, capacity=100), tcp=TcpReading()),
        second(3.0, generator=GeneratorReading(loop_lag_p99_ms=3.0), ports=PortsReading(used=20, capacity=100)),
    ).figures()
    assert figures.host_cpu_ratio == 1.5
    assert (figures.ports_used, figures.ports_capacity) == (40, 100)
    assert figures.open_sockets == 4
    assert figures.loop_lag_p99_ms == 3.0
    assert (figures.target_cpu_ratio, figures.disk_busy_ratio, figures.load_average_1m) == (None, None, None)


def test_targets_are_summed_and_one_that_could_not_be_read_makes_the_sum_unknown() -> None:
    known, unknown = TargetReading(pid=1, cpu_ratio=0.5), TargetReading(pid=2)
    assert folded(second(1.0, targets=(known, known))).figures().target_cpu_ratio == 1.0
    assert folded(second(1.0, targets=(known, unknown))).figures().target_cpu_ratio is None


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([None], None), ([1.0], 1.0), ([1.0, 2.0], 3.0), ([1.0, None], None), ([0.0], 0.0)]
)
def test_a_total_is_none_if_one_of_its_parts_was_not_measured(values: list[float | None], expected: float | None) -> None:
    assert total(values) == expected


def test_each_reading_is_its_mean_over_the_settled_seconds_in_which_it_was_measured() -> None:
    samples = [reading(1, settled=False, queue=99), reading(2, queue=4, queued=1.0), reading(3), reading(7, queue=1, queued=4.0)]
    readings = folded(*samples).figures().readings
    assert (readings["target.listen_queue"], readings["app.queued"]) == (2.5, 2.5)
    assert (readings["tcp.listen_overflows"], readings["target.processes_ended"]) == (4.0, 2.0), "counters are growth per second"
    assert {"target.fds", "host.cpu_ratio"} & readings.keys() == set(), "readings that were not measured are absent"
    assert "target.pid" not in readings


def test_a_counter_that_could_not_be_read_is_not_zero() -> None:
    unread = TargetReading(pid=1, rss_bytes=7, unread=("oom_kills", "processes_ended"))
    readings = folded(second(1, targets=(unread,)), second(2, tcp=TcpReading(unread=("listen_drops",)))).figures().readings
    assert readings["target.rss_bytes"] == 7.0
    assert not {"target.oom_kills", "target.processes_ended", "tcp.listen_drops"} & readings.keys()
    assert (readings["target.processes_started"], readings["tcp.listen_overflows"]) == (0.0, 0.0)


def test_readings_of_several_targets_are_summed_unless_another_rule_is_listed() -> None:
    one = TargetReading(pid=1, rss_bytes=5, busiest_thread_ratio=0.5, disk_free_bytes=9, threads=3)
    other = TargetReading(pid=2, rss_bytes=7, busiest_thread_ratio=0.25, disk_free_bytes=4)
    readings = folded(second(1, targets=(one, other))).figures().readings
    assert (readings["target.rss_bytes"], readings["target.busiest_thread_ratio"]) == (12.0, 0.5)
    assert readings["target.disk_free_bytes"] == 4.0
    assert "target.threads" not in readings, "not measured of one target"


def test_a_level_without_its_last_seconds_has_the_readings_that_it_had_before_them() -> None:
    early = [reading(t, queue=t % 3, queued=0.1 * t) for t in range(1, 40)]
    late = [reading(t, queue=500, queued=7.7) for t in range(40, 60)]
    assert folded(*early, *late).without(late).figures() == folded(*early).figures()
    assert folded(*early, *late).without([*early, *late]).figures().readings == {}


def test_every_number_of_a_reading_has_a_mean_and_other_fields_have_none() -> None:
    assert {"generator.loop_lag_p99_ms", "host.conntrack", "ports.used", "tcp.memory_pages", "target.oom_kills"} <= set(KEYS)
    assert not {"ports.destination", "ports.by_state", "target.alive", "target.pid", "tcp.unread"} & set(KEYS)


def others(t_s: float, cpu_ratio: float | None, **processes: float) -> Sample:
    return second(t_s, endpoint([10]), neighbours=NeighboursReading(cpu_ratio=cpu_ratio, processes=processes))


OTHERS = (
    others(11.0, 1.0),
    others(12.0, 1.5, cc1plus=1.2, chrome=0.2),
    others(13.0, None),
    others(14.0, 1.1, cc1plus=0.6, make=0.1, sshd=0.05),
)


def test_other_processes_are_means_by_name_over_the_seconds_in_which_some_were_named() -> None:
    figures = folded(*OTHERS).figures()
    assert figures.readings["neighbours.cpu_ratio"] == pytest.approx(1.2)
    assert figures.other_processes == pytest.approx({"cc1plus": 0.9, "chrome": 0.1, "make": 0.05})


def test_other_processes_of_seconds_that_are_removed_from_a_level_are_subtracted() -> None:
    assert folded(*OTHERS).without(OTHERS[2:]).figures().other_processes == pytest.approx({"cc1plus": 1.2, "chrome": 0.2})
    assert folded(*OTHERS).without(OTHERS[1:]).figures().other_processes == {}

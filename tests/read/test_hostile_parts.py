"""What a watched part sends may be anything: it is that part's own failure, and neither ends nor delays the reading of others."""

from __future__ import annotations

import base64
import math
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.model import outside
from capexplorer.model.watched import PartSpec
from capexplorer.read import messages, part_probe
from capexplorer.read.link import TimedReading
from capexplorer.read.messages import RawReading
from capexplorer.read.metrics import samples
from capexplorer.read.parts_process import Machines, WatchedPart
from capexplorer.read.servers import Rates, Totals, sums

from .hostile_transport import LIES, PROCESS
from .parts_process import parts_process

TRANSPORT = Path(__file__).with_name("hostile_transport.py")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_part_that_lies_blinds_no_other_part() -> None:
    liars = [PartSpec(name=f"lie-{index}", at=at(lie)) for index, lie in enumerate(LIES)]
    unstartable = PartSpec(name="quotation", at="ssh 'web1")
    with parts_process(*liars, unstartable, PartSpec(name="good", pid=os.getpid())) as process:
        for liar in liars:  # a state is reported after three answers, the third a lie, or where they cannot be used
            process.wait_for_state(lambda state, name=liar.name: state.name == name, f"what became of {liar.at}")  # type: ignore[misc]
        good = process.wait_for_reading(lambda reading: reading.name == "good", "a reading of the good part")
    assert any(state.name == "quotation" and state.state == "unread" for state in process.states)
    assert good.target is not None
    assert good.target.cpu_ratio is not None
    for reading in process.readings:
        assert outside.struct(reading) == (reading, ()), "a number that does not pass the gate"


def at(lie: str) -> str:
    return shlex.join([sys.executable, "-P", str(TRANSPORT), lie])


# -- any raw reading

FILES = st.sampled_from(
    [*part_probe.HOST, *part_probe.FACTS, "/proc/7/stat", "/proc/7/io", "/proc/7/limits", "/proc/7/cgroup", "/proc/7/exe",
     "/proc/7/task/7/schedstat", "/proc/²/schedstat", "/proc/net/tcp", "/sys/fs/cgroup/a/cpu.max", "/sys/class/net/a/speed"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["cpu", "cpu0", "0", "1", "-1", "9" * 30, "9" * 400, "9" * 5000, "inf", "nan", "²", "\ud800", "max", "a:", ":", "total=",
     "some", "full", "0::/a", "MemTotal:", "kB", "(", ")", "\n", "0A", "1.5", "unlimited", "Max open files"]
)  # fmt: skip
TEXTS = st.one_of(st.none(), st.just(PROCESS), st.text(), st.lists(WORDS, max_size=40).map(" ".join))
INTEGERS = st.one_of(st.integers(), st.just(0), st.integers(0, 100), st.just(10**400))
CLOCKS = st.one_of(st.floats(allow_nan=False), st.floats(1000.0, 1010.0))
RAW_READINGS = st.builds(
    RawReading,
    wall=CLOCKS,
    boot=CLOCKS,
    cpu=st.one_of(st.none(), CLOCKS),
    cpus=st.one_of(st.none(), INTEGERS),
    ticks=INTEGERS,
    page=INTEGERS,
    pid=INTEGERS,
    pids=st.lists(st.one_of(st.just(7), INTEGERS), max_size=3).map(tuple),
    why=st.one_of(st.none(), st.text()),
    whole=st.booleans(),
    files=st.dictionaries(FILES, TEXTS, max_size=20),
    numbers=st.dictionaries(st.sampled_from(["cpu_ns:7", "fds:7", "fds_limit:7", "cpus_allowed", "disk_free_bytes"]), INTEGERS),
    all=st.lists(st.one_of(st.text(), st.just(f"7 {PROCESS}")), max_size=4).map(tuple),
    sockets=st.lists(INTEGERS, max_size=2).map(tuple),
    listeners=st.lists(st.one_of(st.text(max_size=8), st.binary().map(base64.b64encode).map(bytes.decode))).map(tuple),
)  # fmt: skip


class FakeLink:
    """A link over which these readings arrive, one a second."""

    process = reader = why = None
    clock_offset_s: tuple[float, float] | None = None

    def __init__(self, readings: list[RawReading]) -> None:
        self._arriving = iter(readings)
        self.at_s = 100.0

    def take(self) -> Iterator[TimedReading]:
        self.at_s += 1.0
        yield TimedReading(next(self._arriving), self.at_s)


@given(st.lists(RAW_READINGS, min_size=1, max_size=6), st.one_of(st.none(), st.tuples(CLOCKS, CLOCKS)))
def test_whatever_a_part_sends_only_messages_that_the_app_can_read_come_of_it(
    readings: list[RawReading], clock_offset_s: tuple[float, float] | None
) -> None:
    link = FakeLink(readings)
    part = WatchedPart(PartSpec(name="db", at="ssh db1"), Machines(), -1, lambda: link.at_s)
    link.clock_offset_s = clock_offset_s
    part.link = link  # type: ignore[assignment]
    for _ in readings:
        for message in part.take():
            found = messages.reported(messages.line(message))
            assert msgspec.json.encode(found) == msgspec.json.encode(message)
            if isinstance(found, messages.Read):
                assert outside.struct(found.reading) == (found.reading, ())


# -- servers' figures

HUGE = st.sampled_from(["9" * 400, "-" + "9" * 400, "1e308", "1", "-1", "+5", "0.5"])
STATSD_LINES = st.builds(
    lambda name, value, kind, share: f"{name}:{value}|{kind}{share}".encode("utf-8", "surrogatepass"),
    st.sampled_from(["a", "b", "c" * 200, "\ud800"]),
    HUGE,
    st.sampled_from(["c", "g", "ms", "h", "x"]),
    st.sampled_from(["", "|@0.0000001", "|@0." + "0" * 320 + "1", "|@1", "|#tag"]),
)


@given(st.lists(st.one_of(STATSD_LINES, st.binary(max_size=200)), max_size=30))
def test_whatever_arrives_at_the_statsd_part_a_figure_is_a_number_or_named_as_none(datagrams: list[bytes]) -> None:
    totals = Totals()
    for datagram in datagrams:
        totals.add(datagram)
    for _ in range(2):
        passed, refused = outside.figures(totals.take(1.0, 0))
        assert all(map(math.isfinite, passed.values()))
        assert not set(passed) & set(refused)


def test_a_number_of_400_digits_spoils_its_own_metric_for_one_reading() -> None:
    totals = Totals()
    totals.add(b"requests:3|c\nsize:" + b"9" * 400 + b"|g\nsize:" + b"9" * 400 + b"|ms")
    assert outside.figures(totals.take(1.0, 0)) == ({"datagrams_per_s": 1.0, "requests_per_s": 3.0}, ("size",))
    totals.add(b"size:7|g")
    assert totals.take(1.0, 0)["size"] == 7.0


@given(st.lists(st.tuples(st.sampled_from(["up", "total", "x_sum"]), HUGE), max_size=10))
def test_whatever_a_prometheus_page_says_a_figure_is_a_number_or_named_as_none(lines: list[tuple[str, str]]) -> None:
    page = "".join(f'{name}{{n="{index}"}} {value}\n' for index, (name, value) in enumerate(lines))
    values, counters = sums(samples(page), {"up", "total", "x_sum"})
    rates = Rates(iter(range(10)).__next__)
    for _ in range(2):
        passed, _ = outside.figures(values | rates.of(counters))
        assert all(map(math.isfinite, passed.values()))


def test_samples_that_sum_to_infinity_are_no_figure() -> None:
    page = 'up{n="1"} 1e308\nup{n="2"} 1e308\nx_sum{n="1"} 1.7e308\nx_sum{n="2"} 1.7e308\n'
    values, counters = sums(samples(page), {"up", "x_sum"})
    found = outside.figures(values | Rates().of(counters))
    assert found == ({}, ("up", "x_sum_per_s"))

"""Watched parts, read by the same reader here and on other machines: what is read of real processes, and when and why a part is
unread."""

from __future__ import annotations

import os
import select
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from programs import needs

from capexplorer.model.watched import PartSpec
from capexplorer.read.link import PartLink
from capexplorer.read.messages import Noticed, RawReading
from capexplorer.read.part_probe import PartProbe
from capexplorer.read.parts_process import Machines, WatchedPart

from .parts_process import children_of, parts_process
from .python_processes import started

TWO_BUSY_PROCESSES = "import os, time\nprint(flush=True)\nos.fork()\nwhile time.process_time() < 60: pass"
LISTENER = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0), backlog=7)
print(listener.getsockname()[1], flush=True)
time.sleep(600)
"""


def shell_without_python(folder: Path) -> str:
    """A transport to a machine that has a shell and no Python: a PATH with five programs."""
    for name in ("sh", "grep", "cat", "date", "tr"):
        found = next(path for each in os.environ["PATH"].split(":") if (path := Path(each, name)).exists())
        (folder / name).symlink_to(found)
    return f"env PATH={folder}"


@pytest.mark.parametrize("reader", ["python", "shell"])
def test_cpu_and_memory_of_a_process_tree_and_its_host_are_read(reader: str, tmp_path: Path) -> None:
    with started(TWO_BUSY_PROCESSES) as (busy, _):
        at = shell_without_python(tmp_path) if reader == "shell" else ""
        with parts_process(PartSpec(name="busy", at=at, pid=busy.pid)) as process:
            reading = process.wait_for_reading(
                lambda each: each.target and (each.target.cpu_ratio or 0.0) > 0.1, "a reading with CPU use of the target"
            )
            assert reading.target is not None and reading.host is not None
            assert reading.target.processes == 2
            assert reading.target.threads == 2
            assert (reading.target.rss_bytes or 0) > 1 << 20
            assert (reading.host.cpu_ratio or 0.0) > 0.1
            state = process.wait_for_state(lambda each: each.state == "read", "the state 'read'")
            assert state.reader == reader
            assert state.machine == "generator"
            assert state.pid == busy.pid
            assert state.clock_offset_s is not None
            assert abs(state.clock_offset_s) <= (state.clock_error_s or 0.0) + 0.6, "the clock is that of this machine"


KUBECTL = """#!/bin/sh
[ "$1 $2 $3 $4" = "exec -i db-0 --" ] || { echo "unexpected: $*" >&2; exit 1; }
shift 4
exec nsenter --target {first} --pid --mount "$@"
"""
"""Runs a command in a container, whose first process has this id here."""


@needs("unshare", "nsenter")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a PID namespace")
def test_of_a_container_all_that_descends_from_its_first_process_is_read(tmp_path: Path) -> None:
    container = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    with started(TWO_BUSY_PROCESSES, before=container) as (outside, _):
        [first] = children_of(outside.pid)
        (kubectl := tmp_path / "kubectl").write_text(KUBECTL.replace("{first}", str(first)))
        kubectl.chmod(0o700)
        with parts_process(PartSpec(name="db", at=f"{kubectl} exec -i db-0 --")) as process:
            reading = process.wait_for_reading(
                lambda each: each.target and (each.target.cpu_ratio or 0.0) > 0.1, "a reading with CPU use of the container"
            )
            assert reading.target is not None
            assert (reading.target.pid, reading.target.processes) == (1, 2), "not the reader, which is in the container, too"
            assert (reading.target.rss_bytes or 0) > 1 << 20


def test_the_accept_queue_of_the_process_that_listens_on_a_port_is_read() -> None:
    with started(LISTENER) as (_, port), parts_process(PartSpec(name="queue", port=int(port))) as process:
        clients = [socket.create_connection(("127.0.0.1", int(port))) for _ in range(3)]
        reading = process.wait_for_reading(
            lambda each: each.target and each.target.listen_queue == 3, "a reading with three connections in the accept queue"
        )
        assert reading.target is not None and reading.target.listen_backlog == 7
        for client in clients:
            client.close()


CPU_GROUPS = {1: ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"), 2: ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")}
"""Folders of control groups that count CPU time, by version."""
BURNS_IN_ORPHANS = """
import os, sys, time
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
print(flush=True)
while not Path(sys.argv[2]).exists():
    time.sleep(0.01)
    if os.getppid() == 1: sys.exit()
for _ in range(100):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os.setsid()
            while time.process_time() < 0.3: pass
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.3)
"""


@pytest.fixture(params=CPU_GROUPS)
def cpu_group(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A new control group that counts CPU time, of each version."""
    parent = next((Path(each) for each in CPU_GROUPS[request.param] if os.access(f"{each}/cgroup.procs", os.W_OK)), None)
    if parent is None:
        pytest.skip("needs a control group that can be written")
    group = parent / f"capexplorer-test-{os.getpid()}"
    group.mkdir()
    try:
        yield group
    finally:
        while pids := (group / "cgroup.procs").read_text().split():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), 9)
            time.sleep(0.01)
        group.rmdir()


def test_children_that_nobody_waits_for_are_a_parts_own_in_its_own_control_group(cpu_group: Path, tmp_path: Path) -> None:
    """Twice forked, in sessions of their own, and gone within a second."""
    with started(BURNS_IN_ORPHANS, str(cpu_group), str(tmp_path / "burn")) as (target, _):
        with parts_process(PartSpec(name="forks", pid=target.pid)) as process:
            first = process.wait_for_reading(lambda each: each.target and each.target.cpu_ratio is not None, "a first reading")
            assert first.target is not None and first.target.processes == 1
            (tmp_path / "burn").touch()
            process.wait_for_reading(lambda each: each.target and (each.target.cpu_ratio or 0) > 0.1, "the CPU time of orphans")
            process.wait_for_reading(lambda each: each.target and (each.target.processes or 0) > 1, "an orphan that runs")


def test_a_process_that_was_in_the_control_group_before_is_not_a_parts_own(cpu_group: Path, tmp_path: Path) -> None:
    with (
        started(BURNS_IN_ORPHANS, str(cpu_group), str(tmp_path / "never")) as (target, _),
        started(TWO_BUSY_PROCESSES) as (other, _),
    ):
        (cpu_group / "cgroup.procs").write_text(str(other.pid))
        with parts_process(PartSpec(name="idle", pid=target.pid)) as process:
            process.poll_until(lambda: sum(each.target is not None for each in process.readings) > 4, "five readings")
        found = [each.target for each in process.readings if each.target is not None]
        assert {each.processes for each in found} == {1}
        assert not [each.cpu_ratio for each in found if (each.cpu_ratio or 0.0) > 0.1]


@needs("su")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_figures_that_the_user_may_not_read_are_listed_as_denied_and_all_others_are_read() -> None:
    with started(LISTENER) as (target, _):
        with parts_process(PartSpec(name="web", at="su -s /bin/sh nobody -c", pid=target.pid)) as process:
            reading = process.wait_for_reading(
                lambda each: each.target and each.target.cpu_ratio is not None, "a reading with CPU use of the target"
            )
            assert reading.target is not None
            assert reading.target.read_bytes_per_s is None, "only the owner may read it"
            assert reading.target.rss_bytes
            assert reading.target.fds_limit
            state = process.wait_for_state(lambda each: each.denied, "a state with denied figures")
            assert "disk bytes" in state.denied
            assert (state.program or "").startswith("python"), "the process name, since the path of its program is denied"


MACHINE_WITH_WRONG_CLOCK = r"""
import os, re, sys, time
first = sys.stdin.buffer.raw.read(4096)
os.write(1, b"Welcome to db7\ncapexplorer python\n")
left = int(re.search(rb"< (\d+)", first)[1])
while left:
    left -= len(os.read(0, left))
while os.read(0, 65536):
    os.write(1, b'{"wall": %f, "boot": %f}\n' % (time.time() + 90, time.monotonic() + 7))
"""
"""A transport that prints a greeting, takes the reader's program, and answers each question with a clock 90 s ahead."""


def test_the_offset_of_a_clock_that_is_90_s_ahead_is_measured() -> None:
    transport = shlex.join([sys.executable, "-c", MACHINE_WITH_WRONG_CLOCK])
    with parts_process(PartSpec(name="db", at=transport)) as process:
        state = process.wait_for_state(lambda each: each.clock_offset_s, "a state with a clock offset")
        assert state.clock_offset_s is not None and state.clock_error_s is not None
        assert abs(state.clock_offset_s - 90) <= state.clock_error_s + 0.01
        assert process.readings[-1].name == "db", "it has readings nevertheless"


def test_a_part_without_a_process_is_read_with_the_reason_and_figures_of_its_host() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with parts_process(PartSpec(name="web", port=port)) as process:
        state = process.wait_for_state(lambda each: each.reason, "a state with a reason")
        assert state.state == "read"
        assert state.reason == f"nothing listens on port {port}"
        assert process.readings[-1].target is None
        assert process.readings[-1].host is not None


def test_a_transport_that_cannot_start_is_reported_with_the_message_of_the_system() -> None:
    with parts_process(PartSpec(name="web", at="no-such-program web1")) as process:
        state = process.wait_for_state(lambda each: each.state == "unread", "the state 'unread'")
        assert state.reason == "no-such-program: No such file or directory"


def test_reader_processes_end_with_the_parts_process_even_if_it_is_killed() -> None:
    with pytest.raises(AssertionError, match="ended with an error"), parts_process(PartSpec(name="here")) as process:
        process.wait_for_reading(lambda each: each.host, "a reading of the host")
        readers = [os.pidfd_open(pid) for pid in children_of(process.process.pid)]
        process.process.kill()
    for reader in readers:
        assert select.select([reader], [], [], 30.0)[0], "a reader process still runs"
        os.close(reader)


SILENT_TRANSPORT = shlex.join([sys.executable, "-c", "import time; time.sleep(600)"])
"""It prints nothing, as a login that takes long."""


class FakeClock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def wake() -> Iterator[int]:
    """The write end of the pipe by which a part wakes its process."""
    read_end, write_end = os.pipe()
    yield write_end
    os.close(read_end)
    os.close(write_end)


def new_states(part: WatchedPart) -> list[str]:
    """States that the part has reported since the last call."""
    return [each.part.state for each in part.take() if isinstance(each, Noticed)]


def test_a_part_whose_transport_prints_nothing_is_unread_after_twenty_seconds(wake: int) -> None:
    clock = FakeClock()
    part = WatchedPart(PartSpec(name="db", at=SILENT_TRANSPORT), Machines(), wake, clock)
    part.poll()
    clock.now_s += 12.0
    assert new_states(part) == [], "after 12 s the login may still succeed"
    clock.now_s += 9.0
    assert new_states(part) == ["unread"], "after 21 s"
    part.link.close()


def test_a_part_whose_transport_cannot_start_is_unread_after_five_seconds(wake: int) -> None:
    clock = FakeClock()
    part = WatchedPart(PartSpec(name="db", at="no-such-program db1"), Machines(), wake, clock)
    part.poll()
    clock.now_s += 6.0
    assert new_states(part) == ["unread"]


def reason_of_failure(at: str) -> str | None:
    """Why a transport gives no readings; waits until it has failed."""
    link = PartLink(at)
    link.poll(b"{}")
    while link.why is None:
        assert select.select(link.descriptors(), [], [], 60.0)[0], "the transport neither prints nor ends"
        assert not list(link.take())
    link.close()
    return link.why


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        ("yes", "the transport printed more than 8 MiB without an answer of the reader"),
        ("sh -c 'yes >&2'", "the transport printed more than 8 MiB without an answer of the reader"),
        ("sh -c 'cat /dev/zero'", "the transport printed more than 8 MiB without an answer of the reader"),
        ("true", "the transport ended"),
        ("sh -c 'echo Account locked >&2; exit 1'", "Account locked"),
        ("sh -c 'printf Account >&2; sleep 0.2; echo \" locked\" >&2; exit 1'", "Account locked"),
        ("sh -c 'cannot open /dev/tty </dev/tty'", "sh: 1: cannot open /dev/tty: No such device or address"),
    ],
)
def test_a_transport_without_a_shell_fails_with_a_reason_of_one_line(at: str, reason: str) -> None:
    assert reason_of_failure(at) == reason


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

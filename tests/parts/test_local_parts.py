"""Parts on this machine, read by the reader that is sent to others: against real processes."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from capexplorer.model.watched import PartSpec

from .reading import reading

BUSY = "import os\nprint(flush=True)\nos.fork()\nwhile True: pass"
QUEUE = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0), backlog=7)
print(listener.getsockname()[1], flush=True)
time.sleep(600)
"""


@contextmanager
def program(text: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A program that prints a line when it is ready, and the line."""
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            os.killpg(process.pid, 9)


def shell_without_python(folder: Path) -> str:
    """A transport to a machine that has a shell, and no Python."""
    for name in ("sh", "grep", "cat", "date", "tr"):
        found = next(path for each in os.environ["PATH"].split(":") if (path := Path(each, name)).exists())
        (folder / name).symlink_to(found)
    return f"env PATH={folder}"


@pytest.mark.parametrize("reads", ["python", "shell"])
def test_cpu_and_memory_of_a_process_tree_and_its_host_are_read(reads: str, tmp_path: Path) -> None:
    with program(BUSY) as (busy, _):
        at = shell_without_python(tmp_path) if reads == "shell" else ""
        with reading(PartSpec(name="busy", at=at, pid=busy.pid)) as part:
            found = part.read(lambda each: each.target and (each.target.cpu_ratio or 0.0) > 0.1, "CPU use of both processes")
            assert found.target is not None and found.host is not None
            assert (found.target.processes, found.target.threads) == (2, 2)
            assert (found.target.rss_bytes or 0) > 1 << 20 and (found.host.cpu_ratio or 0.0) > 0.1
            known = part.noticed(lambda each: each.state == "read", "that it is known")
            assert (known.reader, known.machine, known.pid) == (reads, "generator", busy.pid)
            assert known.clock_offset_s is not None and abs(known.clock_offset_s) <= (known.clock_error_s or 0.0) + 0.6


def test_the_accept_queue_of_the_process_that_listens_on_a_port_is_read() -> None:
    with program(QUEUE) as (_, port), reading(PartSpec(name="queue", port=int(port))) as part:
        clients = [socket.create_connection(("127.0.0.1", int(port))) for _ in range(3)]
        found = part.read(lambda each: each.target and each.target.listen_queue == 3, "three connections that wait")
        assert found.target is not None and found.target.listen_backlog == 7
        for client in clients:
            client.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_what_another_user_may_not_read_is_denied_and_missing_and_the_rest_is_read() -> None:
    with program(QUEUE) as (process, _), reading(PartSpec(name="web", at="su -s /bin/sh nobody -c", pid=process.pid)) as part:
        found = part.read(lambda each: each.target and each.target.cpu_ratio is not None, "its CPU use")
        assert found.target is not None
        assert found.target.read_bytes_per_s is None
        assert found.target.rss_bytes and found.target.fds_limit
        known = part.noticed(lambda each: each.denied, "what is denied")
        assert "disk bytes" in known.denied
        assert (known.program or "").startswith("python"), "by its name, where its executable may not be seen"


CLOCK_OFF = r"""
import os, re, sys, time
first = sys.stdin.buffer.raw.read(4096)
os.write(1, b"Welcome to db7\ncapexplorer python\n")
left = int(re.search(rb"< (\d+)", first)[1])
while left:
    left -= len(os.read(0, left))
while os.read(0, 65536):
    os.write(1, b'{"wall": %f, "boot": %f}\n' % (time.time() + 90, time.monotonic() + 7))
"""


def test_a_clock_that_is_90_s_off_is_measured_and_changes_no_figure() -> None:
    program = shlex.join([sys.executable, "-c", CLOCK_OFF])
    with reading(PartSpec(name="db", at=program)) as part:
        known = part.noticed(lambda each: each.clock_offset_s, "the clock's offset")
        assert known.clock_offset_s is not None and known.clock_error_s is not None
        assert abs(known.clock_offset_s - 90) <= known.clock_error_s + 0.01
        assert part.readings[-1].name == "db"


def test_a_process_that_is_not_there_is_named_and_its_machine_is_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with reading(PartSpec(name="web", port=port)) as part:
        known = part.noticed(lambda each: each.reason, "why there is no process")
        assert (known.state, known.reason) == ("read", f"nothing listens on port {port}")
        assert part.readings[-1].target is None and part.readings[-1].host is not None


def test_a_transport_that_cannot_start_is_named_with_its_own_message() -> None:
    with reading(PartSpec(name="web", at="no-such-program web1")) as part:
        known = part.noticed(lambda each: each.state == "unread", "that it cannot be read")
        assert known.reason == "no-such-program: No such file or directory"


def test_the_reader_ends_with_the_process_that_started_it() -> None:
    with reading(PartSpec(name="here")) as part:
        part.read(lambda each: each.host, "a reading")
        readers = children(part.process.pid)
        assert readers
    assert not [pid for pid in readers if Path(f"/proc/{pid}").exists()]


def test_the_reader_ends_when_that_process_is_killed() -> None:
    with pytest.raises(AssertionError), reading(PartSpec(name="here")) as part:
        part.read(lambda each: each.host, "a reading")
        readers = [os.pidfd_open(pid) for pid in children(part.process.pid)]
        part.process.kill()
    import select

    for reader in readers:
        assert select.select([reader], [], [], 30.0)[0], "a reader process was still running"
        os.close(reader)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

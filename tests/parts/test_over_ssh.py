"""Parts over a real SSH server on loopback, with a key of its own: read, cut off, read again, and nothing left there."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.sshd_rig import needs_root, needs_sshd, sshd

from capexplorer.model.watched import PartSpec

from .reading import WAIT_MOST_S, reading

pytestmark = [needs_sshd, needs_root]


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The command that logs in."""
    with sshd(tmp_path_factory.mktemp("watched") / "sshd") as server:
        yield (
            f"ssh -F none -p {server.port} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
            f" -o IdentitiesOnly=yes -o IdentityFile={server.folder / 'user'} 127.0.0.1"
        )


def clients_of(pid: int) -> list[int]:
    """Processes of transports."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def readers() -> set[int]:
    """Processes that sshd started and that read."""
    done = subprocess.run(["pgrep", "-f", "capexplorer python"], capture_output=True, text=True)
    return {int(pid) for pid in done.stdout.split()}


def test_a_part_is_read_over_ssh_cut_off_and_read_again_and_no_reader_is_left(ssh: str) -> None:
    before = readers()
    with socket.create_server(("127.0.0.1", 0), backlog=9) as listener:
        port = listener.getsockname()[1]
        with reading(PartSpec(name="web", at=ssh, port=port)) as part:
            found = part.read(lambda each: each.target and each.target.listen_backlog == 9, "its accept queue")
            assert found.target is not None and found.target.pid == os.getpid()
            assert (found.reader_cpu_ratio or 0.0) < 0.05  # asked four times as often as in a run
            first = part.noticed(lambda each: each.state == "read", "that it is known")
            assert (first.reader, first.machine, first.pid) == ("python", "generator", os.getpid())

            for client in clients_of(part.process.pid):
                os.kill(client, signal.SIGSTOP)
            part.noticed(lambda each: each.state == "unread", "a link that sends nothing is reported as unread")
            silent = len(part.readings)
            for client in clients_of(part.process.pid):
                os.kill(client, signal.SIGKILL)
            part.until(lambda: part.parts[-1].state == "read" and len(part.readings) > silent, "the part is read again")
    deadline_s = time.monotonic() + WAIT_MOST_S
    while readers() - before:
        assert time.monotonic() < deadline_s, "a reader process was still running"
        time.sleep(0.1)


def test_a_refused_login_is_named_and_prompts_nothing_on_the_terminal(ssh: str) -> None:
    with reading(PartSpec(name="web", at=ssh.replace("/user ", "/host.pub "))) as part:
        known = part.noticed(lambda each: each.state == "unread", "the part cannot be read")
        assert "Permission denied" in (known.reason or ""), known.reason

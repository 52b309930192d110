"""Parts that are read over a real SSH server on loopback, with a temporary key: connection loss, cleanup, refused logins."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator

import pytest
from e2e.sshd_rig import needs_root, needs_sshd, sshd

from capexplorer.model.watched import PartSpec
from lab.kit.runs import wait_until

from .parts_process import WAIT_MOST_S, children_of, parts_process

pytestmark = [needs_sshd, needs_root]


@pytest.fixture(scope="module")
def ssh_command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The command that logs in to a server that runs during the tests."""
    with sshd(tmp_path_factory.mktemp("watched") / "sshd") as server:
        yield (
            f"ssh -F none -p {server.port} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
            f" -o IdentitiesOnly=yes -o IdentityFile={server.folder / 'user'} 127.0.0.1"
        )


def reader_processes() -> set[int]:
    """Processes on the part's machine, here this one, that read the part."""
    done = subprocess.run(["pgrep", "-f", "capexplorer python"], capture_output=True, text=True)
    return {int(pid) for pid in done.stdout.split()}


def test_a_part_over_ssh_is_read_again_after_connection_loss_and_leaves_no_reader_process(ssh_command: str) -> None:
    readers_of_others = reader_processes()
    with socket.create_server(("127.0.0.1", 0), backlog=9) as listener:
        port = listener.getsockname()[1]
        with parts_process(PartSpec(name="web", at=ssh_command, port=port)) as process:
            reading = process.wait_for_reading(
                lambda each: each.target and each.target.listen_backlog == 9, "a reading with an accept queue"
            )
            assert reading.target is not None and reading.target.pid == os.getpid()
            assert (reading.reader_cpu_ratio or 0.0) < 0.05, "CPU use of the reader, asked four times as often as in a run"
            state = process.wait_for_state(lambda each: each.state == "read", "the state 'read'")
            assert state.reader == "python"
            assert state.machine == "generator"
            assert state.pid == os.getpid()

            for ssh_client in children_of(process.process.pid):
                os.kill(ssh_client, signal.SIGSTOP)
            process.wait_for_state(lambda each: each.state == "unread", "the state 'unread' of a link that sends nothing")
            before_loss = len(process.readings)
            for ssh_client in children_of(process.process.pid):
                os.kill(ssh_client, signal.SIGKILL)
            process.poll_until(
                lambda: process.states[-1].state == "read" and len(process.readings) > before_loss,
                "a reading over a new connection",
            )
    wait_until(lambda: not reader_processes() - readers_of_others, "no reader process", WAIT_MOST_S)


def test_a_refused_login_is_reported_with_the_message_of_ssh(ssh_command: str) -> None:
    with parts_process(PartSpec(name="web", at=ssh_command.replace("/user ", "/host.pub "))) as process:
        state = process.wait_for_state(lambda each: each.state == "unread", "the state 'unread'")
        assert "Permission denied" in (state.reason or ""), state.reason

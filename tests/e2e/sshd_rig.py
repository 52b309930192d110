"""Starts an SSH server on loopback, and SSH clients that run a command on it in a terminal. For tests; needs root."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from programs import find, missing, needs

from .rig import E2E_FOLDER, MarkedEnvironment, wait_until

needs_sshd = needs("sshd", "ssh", "ssh-keygen")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="sshd without root gives clients no terminal")

_CONFIG = """
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
PrintMotd no
"""


class Sshd:
    """One server; each `client` runs a command in a new terminal on it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self._silent_input, self._never_written = os.pipe()
        """The standard input of clients to which nothing is typed; it does not end."""

    def close(self) -> None:
        for descriptor in (self._silent_input, self._never_written):
            os.close(descriptor)

    def client(
        self, words: Sequence[str], marked: MarkedEnvironment, output: Path, cwd: Path = E2E_FOLDER
    ) -> subprocess.Popen[bytes]:
        """Run a command by `ssh -tt`, without input. Its output is appended to a file, so that its terminal never blocks."""
        return self._client(words, marked, output, cwd, self._silent_input)

    def typing_client(
        self, words: Sequence[str], marked: MarkedEnvironment, output: Path, cwd: Path = E2E_FOLDER
    ) -> tuple[subprocess.Popen[bytes], int]:
        """As `client`, and a descriptor: bytes written to it are typed. The caller closes it."""
        read_end, write_end = os.pipe()
        try:
            return self._client(words, marked, output, cwd, read_end), write_end
        finally:
            os.close(read_end)

    def _client(
        self, words: Sequence[str], marked: MarkedEnvironment, output: Path, cwd: Path, stdin: int
    ) -> subprocess.Popen[bytes]:
        environment = {name: marked.environment[name] for name in marked.environment if name.startswith(("CAPEXPLORER", "XDG_"))}
        remote_words = ["env", "TERM=xterm-256color", *(f"{name}={value}" for name, value in environment.items()), *words]
        with output.open("ab") as out:
            return subprocess.Popen(
                [
                    _path("ssh"), "-tt", "-q", "-F", "none", "-p", str(self.port), "-i", str(self.folder / "user"),
                    "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes",
                    "127.0.0.1", f"cd {shlex.quote(str(cwd))} && stty rows 40 cols 120 && exec {shlex.join(remote_words)}",
                ],
                stdin=stdin, stdout=out, stderr=out,
            )  # fmt: skip


def _path(program: str) -> str:
    """Where a program is installed; fails if it is missing."""
    path = find(program)
    assert path is not None, missing(program)
    return path


@contextmanager
def sshd(folder: Path) -> Iterator[Sshd]:
    """An SSH server with new keys, on a free port."""
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run([_path("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "config").write_text(_CONFIG.format(folder=folder))
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [_path("sshd"), "-D", "-e", "-f", str(folder / "config"), "-p", str(port)], stdin=subprocess.DEVNULL, stderr=log
        )
    try:
        wait_until(lambda: _answers(port), "a greeting of sshd")
        with closing(Sshd(folder, port)) as server:
            yield server
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        return connection.recv(4) == b"SSH-"
    return False

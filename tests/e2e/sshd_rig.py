"""An SSH server on loopback that root starts for a test, and clients that come and go. Only helps the tests beside it."""

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

from .rig import HERE, Marked, until

needs_sshd = needs("sshd", "ssh", "ssh-keygen")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="sshd without root serves nobody a terminal")

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
    """One server; each `client` is a terminal of its own on it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self._keys, self._typing = os.pipe()
        """Nothing is typed, and nothing ends."""

    def close(self) -> None:
        for fd in (self._keys, self._typing):
            os.close(fd)

    def client(self, words: Sequence[str], marked: Marked, output: Path, cwd: Path = HERE) -> subprocess.Popen[bytes]:
        """`ssh -tt` to which nothing is typed: what it shows is appended to `output`, so that its terminal never blocks."""
        return self._client(words, marked, output, cwd, self._keys)

    def typing_client(
        self, words: Sequence[str], marked: Marked, output: Path, cwd: Path = HERE
    ) -> tuple[subprocess.Popen[bytes], int]:
        """The same, and a descriptor that types; the caller closes it."""
        keys, typing = os.pipe()
        try:
            return self._client(words, marked, output, cwd, keys), typing
        finally:
            os.close(keys)

    def _client(self, words: Sequence[str], marked: Marked, output: Path, cwd: Path, keys: int) -> subprocess.Popen[bytes]:
        environment = {name: marked.environment[name] for name in marked.environment if name.startswith(("CAPEXPLORER", "XDG_"))}
        there = ["env", "TERM=xterm-256color", *(f"{name}={value}" for name, value in environment.items()), *words]
        with output.open("ab") as out:
            return subprocess.Popen(
                [
                    _path("ssh"), "-tt", "-q", "-F", "none", "-p", str(self.port), "-i", str(self.folder / "user"),
                    "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes",
                    "127.0.0.1", f"cd {shlex.quote(str(cwd))} && stty rows 40 cols 120 && exec {shlex.join(there)}",
                ],
                stdin=keys, stdout=out, stderr=out,
            )  # fmt: skip


def _path(program: str) -> str:
    path = find(program)
    assert path is not None, missing(program)
    return path


@contextmanager
def sshd(folder: Path) -> Iterator[Sshd]:
    """A server with keys of its own."""
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
        until(lambda: _answers(port), "that sshd answers")
        with closing(Sshd(folder, port)) as server:
            yield server
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        return connection.recv(4) == b"SSH-"
    return False

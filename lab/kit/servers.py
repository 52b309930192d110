"""Servers and other processes that run beside a run of the program, each for the time of a `with` block."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path

from .programs import find, missing
from .runs import ROOT, MarkedEnvironment, wait_until

SLEEPERS = ROOT / "targets" / "sleepers" / "serve.py"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def listening(argv: Sequence[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    with ended(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)) as process:
        wait_until(lambda: accepts(port), f"a listener on port {port}", 60.0)
        yield process


def accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextmanager
def fast_server() -> Iterator[tuple[str, str]]:
    """(name, URL) of nginx if it is installed, else of the null responder."""
    port, nginx = free_port(), find("nginx")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "nginx.conf"
        config.write_text(
            f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;\n"
            f"worker_rlimit_nofile 20000; events {{ worker_connections 8192; }}\n"
            f"http {{ access_log off; server {{ listen 127.0.0.1:{port} backlog=4096;"
            f" location / {{ return 200 'ok'; }} location /status {{ stub_status; }}"
            f" location /fails {{ return 503 'no'; }} }} keepalive_requests 100000000; }}\n"
        )
        argv = [nginx, "-p", folder, "-c", str(config), "-e", f"{folder}/error.log"] if nginx else null_responder(port)
        with listening(argv, port):
            yield ("nginx" if nginx else "null responder"), f"http://127.0.0.1:{port}"


def null_responder(port: int) -> list[str]:
    return [sys.executable, "-m", "capexplorer.load.null_responder", str(port)]


@contextmanager
def sleepers(workers: int, sleep_ms: float, before: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """(port, pid) of a service of `workers` that sleep for each request. `before`: words of a command that runs it."""
    port = free_port()
    command = [sys.executable, str(SLEEPERS), "--port", str(port), "--workers", str(workers), "--sleep-ms", str(sleep_ms)]
    with listening([*before, *command], port) as process:
        yield port, process.pid


@contextmanager
def beside(commands: Sequence[Sequence[str]]) -> Iterator[None]:
    processes = [subprocess.Popen(command) for command in commands]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def meanwhile(work: Callable[[threading.Event], object]) -> Iterator[None]:
    """`work` in a thread of its own; its event is set at the end of the block, which waits for it."""
    is_over = threading.Event()
    thread = threading.Thread(target=work, args=(is_over,))
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def busy(cores: Sequence[int], *, count: int = 4, most_s: float) -> AbstractContextManager[None]:
    """`count` processes that keep each of these cores busy; they end by themselves after `most_s` at the latest."""
    spin = f"import time; end = time.monotonic() + {most_s}\nwhile time.monotonic() < end: pass"
    return beside([("taskset", "-c", str(core), sys.executable, "-c", spin) for core in cores for _ in range(count)])


SSH_OPTIONS = (
    "-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
    "-o", "IdentitiesOnly=yes",
)  # fmt: skip

_SSHD = """
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
PrintMotd no
"""


def make_keys(folder: Path) -> None:
    """Keys of host and user, and the configuration of an SSH server that accepts the user, in `folder`."""
    for name in ("host", "user"):
        subprocess.run([_path("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "config").write_text(_SSHD.format(folder=folder))
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)


@contextmanager
def sshd_of(folder: Path, address: str, port: int, answers: Callable[[], object], before: Sequence[str] = ()) -> Iterator[None]:
    """An SSH server with the keys of `make_keys`, once `answers` is true. `before`: words of a command that runs it."""
    command = [*before, _path("sshd"), "-D", "-e", "-f", str(folder / "config"), "-o", f"ListenAddress={address}:{port}"]
    with (folder / f"sshd-{address}.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
    with ended(process):
        wait_until(answers, "a greeting of sshd")
        yield


class Sshd:
    """An SSH server on loopback; each `client` runs a command in a new terminal on it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self._silent_input, self._never_written = os.pipe()
        """The standard input of clients to which nothing is typed; it does not end."""

    def close(self) -> None:
        for descriptor in (self._silent_input, self._never_written):
            os.close(descriptor)

    def client(
        self, words: Sequence[str], marked: MarkedEnvironment, output: Path, cwd: Path = ROOT, stdin: int | None = None
    ) -> subprocess.Popen[bytes]:
        """Run a command by `ssh -tt`. Its output is appended to a file, so that its terminal never blocks. `stdin`: a descriptor
        of what is typed; None: nothing is."""
        environment = {name: marked.environment[name] for name in marked.environment if name.startswith(("CAPEXPLORER", "XDG_"))}
        remote_words = ["env", "TERM=xterm-256color", *(f"{name}={value}" for name, value in environment.items()), *words]
        remote = f"cd {shlex.quote(str(cwd))} && stty rows 40 cols 120 && exec {shlex.join(remote_words)}"
        to = ["-p", str(self.port), "-i", str(self.folder / "user"), "127.0.0.1"]
        with output.open("ab") as out:
            return subprocess.Popen(
                [_path("ssh"), "-tt", "-q", *SSH_OPTIONS, *to, remote],
                stdin=self._silent_input if stdin is None else stdin,
                stdout=out,
                stderr=out,
            )


@contextmanager
def typing_client(
    server: Sshd, words: Sequence[str], marked: MarkedEnvironment, output: Path
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A client and a descriptor: bytes written to it are typed. Both end with the block."""
    read_end, write_end = os.pipe()
    with ExitStack() as stack:
        stack.callback(os.close, write_end)
        client = server.client(words, marked, output, stdin=read_end)
        os.close(read_end)
        stack.callback(client.wait)
        stack.callback(client.kill)
        yield client, write_end


def _path(program: str) -> str:
    path = find(program)
    assert path is not None, missing(program)
    return path


@contextmanager
def sshd(folder: Path) -> Iterator[Sshd]:
    """An SSH server with new keys, on a free port of loopback."""
    folder.mkdir(mode=0o700)
    make_keys(folder)
    port = free_port()
    with sshd_of(folder, "127.0.0.1", port, lambda: _greets(port)), closing(Sshd(folder, port)) as server:
        yield server


def _greets(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        return connection.recv(4) == b"SSH-"
    return False

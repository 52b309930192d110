"""The test bed of a row: a network namespace of its own, cgroups, busy processes, a service that capexplorer did not start.

All of it ends with the row. As root each row gets a namespace, so that the kernel's counters, ports and queues are its own.
Without root, rows that need no namespace run on the machine's loopback.
"""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from .. import other_processes

HERE = Path(__file__).resolve().parent
SERVE = HERE / "targets" / "faulty" / "serve.py"
CGROUPS = Path("/sys/fs/cgroup")
TIMEOUT_S = 60.0
BUSY_PROCESSES = 4
"""Number of busy processes on each core that is kept busy."""
BUSY_LONGEST_S = 120.0
NAMESPACE_PROGRAMS = ("ip", "nsenter", "unshare")


def is_root() -> bool:
    return os.geteuid() == 0


@contextmanager
def namespace(lines: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Prefix of a command to run it in a new network namespace with loopback up, prepared by the shell `lines`; empty if not
    root."""
    if not is_root():
        yield ()
        return
    script = " && ".join(("ip link set lo up", *lines, "echo ready", "exec cat")).replace("{python}", sys.executable)
    command = ["unshare", "-n", "sh", "-c", script]
    holder = subprocess.Popen(command, cwd=HERE.parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None and holder.stdout is not None
    with holder, holder.stdin:
        if holder.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the namespace was not made: {script}")
        yield ("nsenter", f"--net=/proc/{holder.pid}/ns/net")
        holder.stdin.close()  # cat ends, and the namespace with it


@contextmanager
def cgroups(wanted: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Folders of new cgroups, separated by colons: one per controller in version 1, one for all controllers in version 2."""
    folders = []
    name = f"capexplorer-faults-{os.getpid()}"
    for controller, files in wanted.items():
        folder = CGROUPS / controller / name if (CGROUPS / controller).is_dir() else CGROUPS / name
        folder.mkdir(exist_ok=True)
        folders.append(folder)
        for file, text in files.items():
            if (folder / file).exists():
                (folder / file).write_text(text)
    try:
        yield ":".join(map(str, folders))
    finally:
        for folder in folders:
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a cgroup as soon as its last process has ended."""
    for _ in range(50):
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)


def busy(cores: Sequence[int]) -> AbstractContextManager[None]:
    """Processes that keep these cores busy."""
    return other_processes.busy(cores, count=BUSY_PROCESSES, most_s=BUSY_LONGEST_S)


def neighbours(kinds: Sequence[str], sessions: Path, at: tuple[int, int]) -> AbstractContextManager[None]:
    """Processes of these kinds on each core, active from the first to the last level of `at` (`neighbour.py`)."""
    sessions.mkdir(exist_ok=True)
    levels = [str(level) for level in at]
    program = [sys.executable, str(HERE / "neighbour.py")]
    cores = sorted(os.sched_getaffinity(0)) if kinds else []
    return other_processes.running([[*program, kind, str(core), str(sessions), *levels] for core in cores for kind in kinds])


@contextmanager
def service(prefix: Sequence[str], folder: Path, port: int, params: Mapping[str, object], tls: bool) -> Iterator[None]:
    """The faulty service, started by the trial and not by capexplorer; it listens when the block begins."""
    arguments = [part for name, value in params.items() for part in (f"--{name}", str(value))]
    arguments += ["--certificate", str(certificate(folder))] if tls else []
    with (folder / "service.log").open("wb") as log:
        command = [*prefix, sys.executable, str(SERVE), "--port", str(port), *arguments]
        process = subprocess.Popen(command, cwd=SERVE.parent, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            _await_listener(prefix, port)
            yield
        finally:
            process.kill()
            process.wait()


def _await_listener(prefix: Sequence[str], port: int) -> None:
    connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 1).close()"
    deadline_s = time.monotonic() + TIMEOUT_S
    while subprocess.run([*prefix, sys.executable, "-c", connect], capture_output=True, check=False).returncode != 0:
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"no service on port {port}")
        time.sleep(0.1)


def certificate(folder: Path) -> Path:
    """Key and self-signed certificate, in one file."""
    path = folder / "self-signed.pem"
    if not path.exists():
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(path), "-out", f"{path}.crt"]
        subprocess.run(command, check=True, capture_output=True)
        path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    ssl.create_default_context().load_verify_locations(path)
    return path

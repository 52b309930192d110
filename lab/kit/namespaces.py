"""Namespaces and cgroups of trials. All of them end with the processes that hold them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGINT, SIGTERM, signal

from .programs import missing
from .runs import ROOT

INSIDE = "CAPEXPLORER_TRIAL_IS_CONTAINED"
CONTAINING = ("setpriv", "unshare")
"""Programs that `contained` runs."""
NETWORKING = ("ip", "nsenter", "unshare")
"""Programs that `network` runs."""
CGROUPS = Path("/sys/fs/cgroup")
_DIES_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
_NEW_NAMESPACES = ("unshare", "--pid", "--mount", "--ipc", "--fork", "--kill-child=KILL", "--mount-proc")


def is_root() -> bool:
    return os.geteuid() == 0


def can_be_contained() -> bool:
    """Whether this process is not in namespaces of its own yet, and may create them."""
    return not os.environ.get(INSIDE) and is_root() and not missing(*CONTAINING)


def contained(command: Sequence[str] = tuple(sys.orig_argv)) -> int:
    """Run a command, else this program again, in PID, mount and IPC namespaces of its own, so that no server, mount or namespace
    is left, however it ends: its first process is killed when this one ends, and the kernel then ends all others.

    Returns its exit code; exits with 128 + signal at SIGTERM or SIGINT.
    """
    for each in (SIGTERM, SIGINT):
        signal(each, lambda number, _: sys.exit(128 + number))
    process = subprocess.Popen([*_DIES_WITH_PARENT, *_NEW_NAMESPACES, *command], env={**os.environ, INSIDE: "1"})
    try:
        return process.wait()
    finally:
        process.kill()
        process.wait()


@contextmanager
def network(lines: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Prefix of a command to run it in a new network namespace with loopback up, prepared by the shell `lines`; empty if not
    root."""
    if not is_root():
        yield ()
        return
    script = " && ".join(("ip link set lo up", *lines, "echo ready", "exec cat")).replace("{python}", sys.executable)
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None and holder.stdout is not None
    with holder, holder.stdin:
        if holder.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the namespace was not made: {script}")
        yield ("nsenter", f"--net=/proc/{holder.pid}/ns/net")
        holder.stdin.close()  # cat ends, and the namespace with it


@contextmanager
def cgroups(wanted: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Folders of new cgroups, separated by colons: one per controller in version 1, one for all controllers in version 2."""
    folders, name = [], f"capexplorer-trial-{os.getpid()}"
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

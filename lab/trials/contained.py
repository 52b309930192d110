"""Runs a trial in PID, mount and IPC namespaces of its own, so that no server, mount or namespace is left, however it ends.

Its first process is killed when the process that the user started ends; the kernel then ends all other processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from signal import SIGINT, SIGTERM, signal

from .programs import missing

INSIDE = "CAPEXPLORER_TRIAL_IS_CONTAINED"
PROGRAMS = ("setpriv", "unshare")
_DIES_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
_NEW_NAMESPACES = ("unshare", "--pid", "--mount", "--ipc", "--fork", "--kill-child=KILL", "--mount-proc")


def is_needed() -> bool:
    """Whether this process is not in such namespaces yet, and may create them."""
    return not os.environ.get(INSIDE) and os.geteuid() == 0 and not missing(*PROGRAMS)


def rerun() -> int:
    """Run this program again with its arguments, in the namespaces. Returns its exit code."""
    return run([*sys.orig_argv])


def run(command: Sequence[str]) -> int:
    """Run a command in the namespaces. Returns its exit code; exits with 128 + signal at SIGTERM or SIGINT."""
    environment = {**os.environ, INSIDE: "1"}
    for each in (SIGTERM, SIGINT):
        signal(each, _exit)
    process = subprocess.Popen([*_DIES_WITH_PARENT, *_NEW_NAMESPACES, *command], env=environment)
    try:
        return process.wait()
    finally:
        process.kill()
        process.wait()


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)

"""A trial in PID, mount and IPC namespaces of its own, so that whatever ends it, no server, mount or namespace is left behind.

Its first process dies with the one that the user started, by any signal, and the kernel then ends all others.
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
_APART = ("unshare", "--pid", "--mount", "--ipc", "--fork", "--kill-child=KILL", "--mount-proc")


def is_needed() -> bool:
    """Whether this process is not in such namespaces, and may make them."""
    return not os.environ.get(INSIDE) and os.geteuid() == 0 and not missing(*PROGRAMS)


def again() -> int:
    """This program with its arguments, contained; its exit code."""
    return run([*sys.orig_argv])


def run(command: Sequence[str]) -> int:
    """A command, contained; its exit code, 128 + signal where SIGTERM or SIGINT ended it here."""
    environment = {**os.environ, INSIDE: "1"}
    for each in (SIGTERM, SIGINT):
        signal(each, _exit)
    process = subprocess.Popen([*_DIES_WITH_PARENT, *_APART, *command], env=environment)
    try:
        return process.wait()
    finally:
        process.kill()
        process.wait()


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)

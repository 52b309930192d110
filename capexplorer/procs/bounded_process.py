"""Runs a command until it ends, its time has passed, or standard input is closed. Then it gets SIGTERM, and SIGKILL after a grace
period, so that it ends after the process that asked for it, however that ended. If this process is killed, so is the command.

Arguments after the package's folder: seconds, and the words of the command. The standard library only, one thread.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from time import monotonic

from capexplorer.procs.processes import die_with_parent
from capexplorer.procs.signals import wake_on

GRACE_S = 60.0
"""A run's users get 10 s to stop and its target as long as its kind needs; then the last marks are made and the log is closed."""


def main() -> None:
    """Exits with the command's code."""
    seconds, command = float(sys.argv[2]), sys.argv[3:]
    woken = wake_on(signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    run = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent())  # safe: one thread
    _wait(run, seconds, 0, woken)
    if run.poll() is None:
        run.terminate()
        _wait(run, GRACE_S, woken)
    if run.poll() is None:
        run.kill()
    code = run.wait()
    sys.exit(code if code >= 0 else 128 - code)


def _wait(run: subprocess.Popen[bytes], seconds: float, *sources: int) -> None:
    """Until the command has ended, the time has passed, or another source than the end of a child is readable."""
    until_s = monotonic() + seconds
    while run.poll() is None and (left_s := until_s - monotonic()) > 0:
        ready = select.select(sources, [], [], left_s)[0]
        if any(set(os.read(each, 4096)) != {signal.SIGCHLD} for each in ready):
            return

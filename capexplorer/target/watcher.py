"""The watcher: the supervisor's parent. It ends what a killed supervisor leaves behind, then itself.

    app ── watcher ── supervisor ── target's first process ── its workers, its daemons

If the supervisor is killed, the kernel ends only the target's first process with it. Its workers, and daemons that forked twice
and called setsid, get the nearest subreaper as their parent: the watcher (Linux). So the supervisor ends the target if the app or
the watcher has ended, and the watcher ends it if the supervisor has ended. App, watcher and supervisor have sessions of their
own, so that no signal to a process group reaches two of them. The standard library only, no threads.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from capexplorer.target.process_tree import adopt_orphans, descendants


def fork_supervisor() -> int | None:
    """This process becomes the watcher and ends with the supervisor; the call returns in the child, which is the supervisor.

    Returns a descriptor that reaches its end when the watcher ends. None on systems other than Linux, where no process can adopt
    orphans: there is no watcher.
    """
    if sys.platform != "linux":
        return None
    adopt_orphans()
    reader, writer = os.pipe()
    supervisor = os.fork()
    if supervisor:
        os.close(reader)
        _watch(supervisor)
    os.close(writer)
    os.setsid()
    return reader


def _watch(supervisor: int) -> None:
    """Never returns. On SIGTERM it kills the supervisor: the app's last resort if the supervisor does not end."""
    _close_standard_streams()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _kill(supervisor))
    status = os.waitpid(supervisor, 0)[1]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end_descendants()
    os._exit(0 if status == 0 else 1)


def _close_standard_streams() -> None:
    """The app must see the supervisor's pipes end with the supervisor."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _end_descendants() -> None:
    """Kill all, reap one, and repeat: a process that was forked meanwhile becomes our child when its parent has ended."""
    with suppress(ChildProcessError):
        while True:
            for pid in descendants():
                _kill(pid)
            os.waitpid(-1, 0)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)

"""Finds and ends all descendants of this process. For the supervisor and its watcher only: standard library, no threads.

On Linux a subreaper adopts the orphans of its descendants, so that a daemon that forked twice and called setsid is
still found. Elsewhere only the target's process group is known.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

from capexplorer.procs.stat import stats

from ..procs.stat import stat_of

# -- alive ---------------------------------------------------------------------------------------------------------------------
# Whether a process of any user runs here; the check has no effect on the process.


def is_alive(pid: int) -> bool:
    """Also True for a process that we may not signal. False for a zombie: it has ended, even if no process ever waits for it.
    Where /proc is missing, a zombie counts as alive.
    """
    stat = stat_of(pid)
    return _takes_signals(pid) if stat is None else not stat.has_ended


def _takes_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> Callable[[], None] | None:
    """A function for a child to call between fork and exec, so that it is killed when this process ends, even by SIGKILL (Linux).

    The kernel watches the thread that forked, not its process: the supervisor has only one thread.
    """
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # the parent ended before the call above
            os._exit(1)

    return bind


def any_left(group: int, others: Iterable[int] = ()) -> bool:
    """Whether a process of this run still runs. `others`: process groups of other runs below this process."""
    if sys.platform == "linux":
        return bool(members(others))
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):  # macOS: EPERM when only zombies are left
        return False
    return True


def signal_group(group: int, number: int) -> None:
    """Signal the target's process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def signal_all(group: int, number: int, others: Iterable[int] = ()) -> None:
    """Signal all processes below this one except `others`; on systems other than Linux, the run's process group."""
    if sys.platform != "linux":
        signal_group(group, number)
        return
    for pid in members(others):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def descendants() -> list[int]:
    """The pids of all processes below this one except zombies (Linux)."""
    return members(())


def members(others: Iterable[int]) -> list[int]:
    """The pids of all processes below this one except zombies, the sessions of `others`, and what is below those (Linux).

    A daemon that left such a session and lost its parent cannot be distinguished: it counts as a member.
    """
    left_out, children = set(others), dict[int, list[tuple[int, int]]]()
    for pid, parent, session in _living():
        children.setdefault(parent, []).append((pid, session))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = [pid for pid, session in children.get(todo.pop(), []) if session not in left_out]
        found += below
        todo += below
    return found


def session_of(leader: int) -> list[int]:
    """The pids of all processes of a session except zombies (Linux)."""
    return [pid for pid, _, session in _living() if session == leader]


def _living() -> list[tuple[int, int, int]]:
    """(pid, parent's pid, session) of all processes except zombies."""
    return [(pid, each.parent, each.session) for pid, each in stats().items() if not each.has_ended]

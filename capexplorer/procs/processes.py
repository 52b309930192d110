"""Processes of this machine: /proc/PID/stat, whether one is alive, which belong to a tree, and how a tree is ended.

The supervisor and its watcher end all descendants of theirs. On Linux a subreaper adopts the orphans of its descendants, so that
a daemon that forked twice and called setsid is still found; elsewhere only the target's process group is known.
`read/remote_reader.py`, which is sent to other machines, has a reader of its own.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

_MOST_BYTES = 4096


class Stat(NamedTuple):
    """The fields that are used. Times in clock ticks, start time since boot."""

    name: str
    """As the process has set it: untrusted text."""
    state: str
    parent: int
    session: int
    major_faults: int
    """Major page faults of this process: pages that had to be read from disk."""
    own_ticks: int
    """CPU time of all its threads, without its children's."""
    reaped_ticks: int
    """CPU time of its reaped children, including their reaped children."""
    threads: int
    started_ticks: int
    rss_pages: int
    wait_status: int
    """Wait status of a zombie; also 0 where this process may not read it."""

    @property
    def has_ended(self) -> bool:
        """Whether it is a zombie: nobody has waited for it yet."""
        return self.state in "ZX"


def stat_in(text: str | None) -> Stat | None:
    """One process; None without the text, or with a part of it. The name may hold spaces and brackets, so fields count from the
    last bracket.
    """
    head, _, rest = (text or "").rpartition(")")
    fields = rest.split()
    if len(fields) < 22:
        return None
    return Stat(
        name=head.partition("(")[2],
        state=fields[0],
        parent=int(fields[1]),
        session=int(fields[3]),
        major_faults=int(fields[9]),
        own_ticks=int(fields[11]) + int(fields[12]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        threads=int(fields[17]),
        started_ticks=int(fields[19]),
        rss_pages=int(fields[21]),
        wait_status=int(fields[49]) if len(fields) > 49 else 0,
    )


def stat_of(pid: int) -> Stat | None:
    """One process here, in one read; None if there is none, or it cannot be read."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return stat_in(os.read(descriptor, _MOST_BYTES).decode("utf-8", "replace"))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def stats() -> dict[int, Stat]:
    """All processes here by pid. Raises OSError: /proc cannot be listed."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return {pid: found for pid in pids if (found := stat_of(pid)) is not None}


RUN_VARIABLE = "CAPEXPLORER_RUN"
"""In the environment of a run's processes: they inherit it, whatever becomes of their parents, groups and sessions."""


def run_of(pid: int) -> str | None:
    """The run of capexplorer that a process here belongs to; empty: to none; None: it has ended, is another user's, or no
    descriptor is left."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            found = [each for each in file.read().split(b"\0") if each.startswith(f"{RUN_VARIABLE}=".encode())]
    except OSError:
        return None
    return found[-1].decode("utf-8", "replace") if found else ""


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


def descendants(pids: set[int], parents: Mapping[int, int]) -> list[int]:
    """All descendants of `pids`, parents before children; `parents`: parent's pid by pid."""
    below: list[int] = []
    found = set(pids)
    while generation := [pid for pid, parent in parents.items() if parent in found and pid not in found]:
        below += generation
        found.update(generation)
    return below


def members(others: Iterable[int] = ()) -> list[int]:
    """The pids of all processes below this one except zombies, the sessions of `others`, and what is below those (Linux).

    A daemon that left such a session and lost its parent cannot be distinguished: it counts as a member.
    """
    left_out = set(others)
    living = {pid: each for pid, each in stats().items() if not each.has_ended and each.session not in left_out}
    return descendants({os.getpid()}, {pid: each.parent for pid, each in living.items()})


def session_of(leader: int) -> list[int]:
    """The pids of all processes of a session except zombies (Linux)."""
    return [pid for pid, each in stats().items() if each.session == leader and not each.has_ended]

"""Native threads in a process that gevent has patched, where `threading.Thread` is a greenlet and `time.sleep` needs a hub."""

from __future__ import annotations

import _thread
import ctypes
import os
import resource
import select
import sys
import time
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

from ..errors import InputError
from ..model.limits import AS_IT_IS, ProcessLimits
from ..profile import MAX_BODY_MB


def patch(limits: ProcessLimits = AS_IT_IS, max_body_mb: float | None = MAX_BODY_MB) -> None:
    """Import Locust, which patches the standard library. Call it on the main thread, before Textual, ssl, requests or httpx are
    imported.

    Also shortens the interpreter's switch interval, so that a redraw does not block the load thread for 5 ms at a time, and
    raises the soft limit of open files, as Locust's command line does. `limits`: those of the generator, which override that
    limit. `max_body_mb`: limit on a reply's body in memory; None: it is set later by `bound_bodies`. Raises InputError if the
    kernel refuses `limits`.
    """
    if limits.cpus is not None:
        _limit_cpus(limits.cpus)  # before the load's threads: they inherit it
    from .hooks.hook import AS_LOCUST_IS_IMPORTED, BEFORE_LOCUST, put_in_place, while_in_place

    put_in_place(BEFORE_LOCUST)
    with while_in_place(AS_LOCUST_IS_IMPORTED):
        import locust  # noqa: F401

    from .hooks.hook_table import AFTER_LOCUST

    put_in_place(AFTER_LOCUST)
    if max_body_mb is not None:
        bound_bodies(max_body_mb)
    sys.setswitchinterval(1e-4)
    _limit_open_files(limits.open_files)


_PR_SET_TIMERSLACK = 29


def wake_when_due() -> None:
    """Take the kernel's slack of 50 µs from the timers of this thread, and of those that it starts: it is added to each wait for
    the interpreter, too. A thread that is due while another one computes then runs after 160 µs instead of 260 in the median.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def bound_bodies(max_body_mb: float) -> None:
    """Limit a reply's body in memory."""
    from .bodies import body_limit

    body_limit.most_bytes = int(max_body_mb * 1e6)


def _limit_cpus(cpus: Collection[int]) -> None:
    """Set the CPUs of all existing threads, since NumPy, which may be imported earlier, starts some."""
    try:
        for thread_id in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(thread_id), cpus)
    except OSError as error:
        raise InputError(f"limits.generator.cpus: the kernel refuses {sorted(cpus)}: {error}") from None


def _limit_open_files(wanted: int | None) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if wanted is None and soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if wanted is not None:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
        except (OSError, ValueError) as error:
            raise InputError(f"limits.generator.open_files: the kernel refuses {wanted}: {error}") from None


_running: set[object] = set()


def start_thread(body: Callable[[], None]) -> None:
    """Run `body` in an operating-system thread, patched or not."""

    def run() -> None:
        try:
            body()
        finally:
            _running.discard(run)

    _running.add(run)
    _unpatched(_thread, "start_new_thread")(run, ())


def leave(exit_code: int) -> None:
    """End the process at once if a native thread still runs: a thread that spins in user code would crash the interpreter's
    shutdown.
    """
    if _running:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_code)


def allocate_lock() -> _thread.LockType:
    """A lock that native threads may wait for without a hub."""
    lock: _thread.LockType = _unpatched(_thread, "allocate_lock")()
    return lock


def poll() -> select.poll:
    """A `select.poll` object that native threads may wait for without a hub."""
    poller: select.poll = _unpatched(select, "poll")()
    return poller


def sleep(seconds: float) -> None:
    """Sleep the calling native thread."""
    _unpatched(time, "sleep")(seconds)


def _unpatched(module: ModuleType, name: str) -> Any:
    """A function as it was before gevent patched the process, if it has done so."""
    monkey = sys.modules.get("gevent.monkey")
    return getattr(module, name) if monkey is None else monkey.get_original(module.__name__, name)

"""Native threads in a process that gevent has patched, where `threading.Thread` is a greenlet and `time.sleep` needs a hub."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

_unpatched_sleep = time.sleep


def patch() -> None:
    """Import Locust, which patches the standard library. On the main thread, before Textual, ssl, requests or httpx.

    Also shortens the interpreter's switch interval, so that a redraw does not hold the load thread for 5 ms at a time, and raises
    the soft limit of open files, which only Locust's own command line does.
    """
    import locust  # noqa: F401

    sys.setswitchinterval(1e-4)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def start_thread(body: Callable[[], None]) -> None:
    """Run `body` in an operating-system thread, patched or not."""
    from gevent import monkey

    monkey.get_original("_thread", "start_new_thread")(body, ())


def sleep(seconds: float) -> None:
    """Sleep the calling native thread."""
    if "gevent.monkey" in sys.modules:
        from gevent import monkey

        monkey.get_original("time", "sleep")(seconds)
    else:
        _unpatched_sleep(seconds)

"""Calls handed to a thread that waits for them with a timeout, also while the process is stopped and continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

from processes import is_stopped

from capexplorer.run.inbox import Inbox

TIMEOUT_S = 60.0

WAITING = """
import signal, sys, threading
from capexplorer.run.inbox import Inbox

inbox, waits = Inbox(), 0

def wait():
    global waits
    while True:
        inbox.take(0.1)
        waits += 1
        print(waits, flush=True)

signal.signal(signal.SIGCONT, lambda *_: None)
threading.Thread(target=wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT})  # so that the kernel hands it to the thread that waits
sys.stdin.read()
"""


@contextmanager
def waiting() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_thread_that_was_stopped_past_its_timeout_continues_waiting_with_one() -> None:
    """With `SimpleQueue.get(timeout=...)` it never came back: CPython waits without a timeout then."""
    with waiting() as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGSTOP)
        deadline_s = monotonic() + TIMEOUT_S
        while not is_stopped(process.pid) and monotonic() < deadline_s:
            sleep(0.01)
        assert is_stopped(process.pid)
        stopped_s = monotonic()
        while monotonic() < stopped_s + 0.5:  # the timeout of 0.1 s passes while it is stopped
            sleep(0.01)
        os.kill(process.pid, signal.SIGCONT)
        reported = [process.stdout.readline() for _ in range(10)]
    assert all(reported), "ten more waits came to their end"


def test_calls_come_in_the_order_in_which_they_were_put() -> None:
    inbox, seen = Inbox(), list[int]()
    for number in range(3):
        inbox.put(lambda number=number: seen.append(number))  # type: ignore[misc]
    while (call := inbox.take(0.0)) is not None:
        call()
    assert seen == [0, 1, 2] and inbox.take(0.01) is None

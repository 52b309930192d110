"""Calls for a thread that waits for them with a timeout, also if its process is stopped (SIGSTOP) and continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic, sleep

from processes import is_stopped

from capexplorer.run.pump import Inbox

TIMEOUT_S = 60.0

WAITING_PROGRAM = """
import signal, sys, threading
from capexplorer.run.pump import Inbox

inbox, wait_count = Inbox(), 0

def wait():
    global wait_count
    while True:
        inbox.take(0.1)
        wait_count += 1
        print(wait_count, flush=True)

signal.signal(signal.SIGCONT, lambda *_: None)
threading.Thread(target=wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT})  # so that the kernel delivers it to the other thread, which waits
sys.stdin.read()
"""


@contextmanager
def waiting_process() -> Iterator[subprocess.Popen[str]]:
    """A process of WAITING_PROGRAM, which prints a line after each wait of 0.1 s."""
    process = subprocess.Popen([sys.executable, "-c", WAITING_PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_thread_that_was_stopped_beyond_its_timeout_still_waits_with_a_timeout() -> None:
    """With `SimpleQueue.get(timeout=...)` the thread never continued: CPython waits without a timeout then."""
    with waiting_process() as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "the first wait ends"
        os.kill(process.pid, signal.SIGSTOP)
        deadline_s = monotonic() + TIMEOUT_S
        while not is_stopped(process.pid) and monotonic() < deadline_s:
            sleep(0.01)
        assert is_stopped(process.pid)
        sleep(0.5)  # five times the timeout: it passes while the process is stopped, which is the case under test
        os.kill(process.pid, signal.SIGCONT)
        reported = [process.stdout.readline() for _ in range(10)]
    assert all(reported), "ten more waits end"


def test_calls_are_taken_in_the_order_in_which_they_were_put() -> None:
    inbox, numbers = Inbox(), list[int]()
    for number in range(3):
        inbox.put(partial(numbers.append, number))
    while callable(call := inbox.take(0.0)):
        call()
    assert numbers == [0, 1, 2]
    assert inbox.take(0.01) is None

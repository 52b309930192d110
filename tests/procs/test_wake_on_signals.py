"""A signal makes a descriptor readable, which has its number; its handler is no SIG_IGN, which children would inherit."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, select, signal, subprocess, sys
from capexplorer.procs.signals import wake_on

wake = wake_on(signal.SIGTERM, signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGUSR1)
select.select([wake], [], [])
print(list(os.read(wake, 10)) == [signal.SIGUSR1])
of_child = "import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
print(subprocess.run([sys.executable, "-c", of_child], capture_output=True, text=True).stdout.strip())
"""


def test_a_signal_wakes_the_loop_and_children_have_the_default() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]

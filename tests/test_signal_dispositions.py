"""Processes that tests start take signals as a program started from a terminal does, however pytest itself was started."""

from __future__ import annotations

import subprocess
import sys

IGNORED = "import signal; print(*(s.name for s in signal.Signals if signal.getsignal(s) is signal.SIG_IGN))"
RESTORED_BY_SUBPROCESS = {"SIGPIPE", "SIGXFSZ"}
"""The child's own interpreter ignores them again."""


def test_a_child_ignores_no_signal() -> None:
    printed = subprocess.run([sys.executable, "-c", IGNORED], capture_output=True, text=True, check=True).stdout
    assert set(printed.split()) - RESTORED_BY_SUBPROCESS == set()


def test_a_child_ignores_no_signal_where_pytest_was_started_with_signals_ignored() -> None:
    inner = f"{__file__}::{test_a_child_ignores_no_signal.__name__}"
    command = ["sh", "-c", 'trap "" INT QUIT HUP; exec "$@"', "sh", sys.executable, "-m", "pytest", "-q", inner]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

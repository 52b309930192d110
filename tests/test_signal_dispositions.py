"""Processes that tests start ignore no signals, also if pytest itself was started with signals ignored, as by nohup."""

from __future__ import annotations

import subprocess
import sys

PRINT_IGNORED_SIGNALS = "import signal; print(*(s.name for s in signal.Signals if signal.getsignal(s) is signal.SIG_IGN))"
IGNORED_BY_PYTHON = {"SIGPIPE", "SIGXFSZ"}
"""Every Python interpreter ignores these, so the child does, too."""


def test_a_child_ignores_no_signal() -> None:
    printed = subprocess.run([sys.executable, "-c", PRINT_IGNORED_SIGNALS], capture_output=True, text=True, check=True).stdout
    assert set(printed.split()) - IGNORED_BY_PYTHON == set()


def test_a_child_ignores_no_signal_if_pytest_was_started_with_signals_ignored() -> None:
    other_test = f"{__file__}::{test_a_child_ignores_no_signal.__name__}"
    command = ["sh", "-c", 'trap "" INT QUIT HUP; exec "$@"', "sh", sys.executable, "-m", "pytest", "-q", other_test]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

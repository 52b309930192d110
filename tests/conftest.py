"""For all tests: default signals in children, no configuration of the user's own, no deadline, an order that keeps cores busy."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

IGNORED_BY_PYTHON = {"SIGPIPE", "SIGXFZ", "SIGXFSZ"}
"""Python ignores these itself, and `subprocess` restores them in children."""


def replace_ignored_signals() -> None:
    """Catch each ignored signal with a handler that does nothing: exec keeps an ignored signal, and resets a handler.

    A shell starts its background jobs with SIGINT ignored, nohup with SIGHUP ignored. pytest itself goes on ignoring them.
    """
    for number in signal.Signals:
        if signal.getsignal(number) is signal.SIG_IGN and number.name not in IGNORED_BY_PYTHON:
            signal.signal(number, lambda *_: None)


replace_ignored_signals()

# Of whoever runs the tests: their keys and their theme would be under test.
os.environ["CAPEXPLORER_CONFIG"] = str(Path(__file__).parent / "data" / "empty-configuration.toml")

# No test asserts wall-clock time, and so Hypothesis must not either: a busy machine is no failure.
settings.register_profile("any pace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any pace")


LONGEST = (
    "e2e/test_verification.py",
    "load/test_user_code.py",
    "e2e/test_user_code.py",
    "e2e/test_workers.py",
    "e2e/test_attach.py",
)
"""One to three minutes each, nearly all of it waiting: whoever begins one last would keep everybody waiting."""

SLOW_ENDS = 0.7
"""Files with slow tests are spread over this part of the run, in the order of collection."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests wait for processes, the others compute: side by side they keep all cores at work."""
    slow = dict.fromkeys(item.path for item in items if item.get_closest_marker("slow"))
    others = dict.fromkeys(item.path for item in items if item.path not in slow)
    slow = dict.fromkeys(sorted(slow, key=lambda path: not path.as_posix().endswith(LONGEST)))
    place = {
        path: index / len(files) * ends for files, ends in ((slow, SLOW_ENDS), (others, 1)) for index, path in enumerate(files)
    }
    items.sort(key=lambda item: place[item.path])

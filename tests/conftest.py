"""For all tests: children start with default signals, Hypothesis sets no deadline, and tests that wait come first."""

from __future__ import annotations

import signal

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

# No test asserts wall-clock time, and so Hypothesis must not either: a busy machine is no failure.
settings.register_profile("any pace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any pace")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first: they mostly wait, and at the end of a run all cores should have work."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)

"""For all tests: default signals in children, no configuration of the user's own, no deadline, the longest first."""

from __future__ import annotations

import gc
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

# No test asserts wall-clock time, and so Hypothesis must not either: a busy machine is no failure. Every run has the
# same examples, so that a test fails because of the commit. `make fuzz` draws new ones.
settings.register_profile("new-examples", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same-examples", settings.get_profile("new-examples"), derandomize=True)
settings.load_profile("same-examples")


LONGEST = (
    "e2e/test_verification.py",
    "load/test_user_code.py",
    "e2e/test_user_code.py",
    "e2e/test_workers.py",
    "e2e/test_attach.py",
    "e2e/test_faults_run.py",
    "tui/test_app.py",
    "load/test_autopilot_simulated.py",
)
"""Those that would keep everybody waiting if they began last: they begin first."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m slow...`, files and folders without slow tests are not imported: nine of ten, and each worker would."""
    if not config.getoption("markexpr").startswith("slow"):
        return None
    is_test = collection_path.name.startswith("test_")
    files = collection_path.rglob("test_*.py") if collection_path.is_dir() else iter([collection_path] * is_test)
    return None if any("mark.slow" in file.read_text(encoding="utf-8") for file in files) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONGEST))


def pytest_collection_finish() -> None:
    """Thousands of tests live as long as their process: the garbage collector need not look at them each time.

    The threshold is that of the product (`cli.main`): with the default one, collecting takes 6% of the CPU of tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)

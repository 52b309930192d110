"""For all tests: no signals ignored by child processes, no configuration file and no sessions of the user, no deadlines, workers
of xdist.
"""

from __future__ import annotations

import gc
import os
import signal
from inspect import signature
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

IGNORED_BY_PYTHON = {"SIGPIPE", "SIGXFZ", "SIGXFSZ"}
"""Python ignores these signals itself, and `subprocess` restores them in children."""


def replace_ignored_signals() -> None:
    """Handle each ignored signal by a function that does nothing: after exec an ignored signal stays ignored, and a handled one
    has its default action.

    A shell starts its background jobs with SIGINT ignored, nohup with SIGHUP ignored. For pytest itself nothing changes.
    """
    for number in signal.Signals:
        if signal.getsignal(number) is signal.SIG_IGN and number.name not in IGNORED_BY_PYTHON:
            signal.signal(number, lambda *_: None)


replace_ignored_signals()

# The configuration file of the person who runs the tests could change keys, theme and units.
os.environ["CAPEXPLORER_CONFIG"] = str(Path(__file__).parent / "data" / "empty-configuration.toml")

# Where GitHub Actions runs these tests, a headless run would write to the job's page and print annotations.
for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(name, None)

# Without a deadline no test fails because the machine is busy. Every run has the same examples, so that a failure is due to the
# commit; `make fuzz` draws new examples, and ten times as many. `make mutants` does not ask for the smallest one that fails.
settings.register_profile("new-examples", deadline=None, max_examples=500, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same-examples", settings.get_profile("new-examples"), derandomize=True, max_examples=50)
settings.register_profile("mutants", settings.get_profile("same-examples"), phases=[Phase.explicit, Phase.generate])
settings.load_profile("same-examples")


BEGIN_FIRST = (
    "e2e/test_verification.py",
    "e2e/test_results.py",
    "e2e/test_wheel.py",
)
"""The files whose tests take longest. If they began last, the other workers would have nothing to do while they run."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m slow...`, do not import files without slow tests: they are nine of ten, and each worker would import all."""
    if not config.getoption("markexpr").startswith("slow"):
        return None
    is_test = collection_path.name.startswith("test_")
    files = collection_path.rglob("test_*.py") if collection_path.is_dir() else iter([collection_path] * is_test)
    return None if any("mark.slow" in file.read_text(encoding="utf-8") for file in files) else True


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests that use a fixture of their file run in one worker, which makes it once. Any worker may run each of the others, so
    that no worker is left with a file of long tests at the end.
    """
    if isinstance(item, pytest.Function) and signature(item.function).parameters.keys() & vars(item.module).keys():
        item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.path.as_posix().endswith(BEGIN_FIRST))


def pytest_collection_finish() -> None:
    """Exclude the collected tests, thousands of objects that live as long as the process, from garbage collection.

    The threshold is that of the product (`cli.main`): with Python's default, garbage collection takes 6% of the CPU of tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where sessions are saved that no option names: never among those of the person who runs the tests."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of asynchronous tests, as Textual has it."""
    return "asyncio"

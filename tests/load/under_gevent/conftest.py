"""The files of this folder are run by a pytest of their own, in a process that gevent has patched: the first one stays as it is.

Any pytest may be asked for such files, and has one test for all that share a process, whose output names the tests that failed.
`PATCHED="-k NAME" pytest FILE` passes options on to the other pytest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..lean.echo import echo
from ..lean.wire import wire
from ..patched import ROOT, TIMEOUT_S
from ..playing import playing
from ..servers import self_signed, server

if TYPE_CHECKING:
    from .rig import Rig

_URLS = "CAPEXPLORER_TEST_SERVERS"
"""The environment variable with the URLs of servers: they run in threads of the process that is not patched."""


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return None if _URLS in os.environ else PatchedFile.from_parent(parent, path=module_path)


ALONE = ("test_conformance.py", "test_keep_alive.py", "test_recorder.py")
"""Files whose tests see what others have left in a process: resolved names, connections, errors that are reported once."""


class PatchedFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        made: PatchedProcess = PatchedProcess.from_parent(self, name="in_a_patched_process")
        if "mark.slow" in self.path.read_text(encoding="utf-8"):
            made.add_marker("slow")
        yield made


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick files share a process, whose start takes longer than most of them."""
    found = [item for item in items if isinstance(item, PatchedProcess)]
    sharing = [item for item in found if item.get_closest_marker("slow") is None and item.path.name not in ALONE]
    for other in sharing[1:]:
        sharing[0].paths += other.paths
        items.remove(other)


class PatchedProcess(pytest.Item):
    def __init__(self, name: str, parent: pytest.Collector) -> None:
        super().__init__(name, parent)
        self.paths = [str(self.path)]

    def runtest(self) -> None:
        with server() as plain, server(self_signed()) as tls, echo() as echo_url, wire() as wire_url, playing() as played:
            urls = json.dumps({"url": plain.url, "tls": tls.url, "echo": echo_url, "wire": wire_url, "played": played})
            command = [sys.executable, "-m", "tests.load.patched", *self.paths, *os.environ.get("PATCHED", "").split()]
            environment = {**os.environ, _URLS: urls}
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
        if done.returncode not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            pytest.fail(f"{done.stdout[-20_000:]}\n{done.stderr[-4_000:]}", pytrace=False)


@pytest.fixture(scope="session")
def urls() -> dict[str, str]:
    found: dict[str, str] = json.loads(os.environ[_URLS])
    return found


@pytest.fixture(scope="session")
def url(urls: dict[str, str]) -> str:
    """Of a server that misbehaves as the path of a request says (`servers`)."""
    return urls["url"]


@pytest.fixture(scope="session")
def tls(urls: dict[str, str]) -> str:
    """As `url`, with a certificate that nobody vouches for."""
    return urls["tls"]


@pytest.fixture(scope="session", name="echo")
def _echo(urls: dict[str, str]) -> str:
    return urls["echo"]


@pytest.fixture(scope="session", name="wire")
def _wire(urls: dict[str, str]) -> str:
    return urls["wire"]


@pytest.fixture(scope="session", name="played")
def _played(urls: dict[str, str]) -> str:
    return urls["played"]


@pytest.fixture
def rig() -> Iterator[Callable[..., Rig]]:
    """Makes load threads with users, which must end in time after the test."""
    from .rig import Rig

    made: list[Rig] = []

    def make(*classes: Any, **options: Any) -> Rig:
        made.append(Rig(*classes, **options))
        return made[-1]

    yield make
    assert all([each.host.stop() for each in made])

"""`--sandbox`: users reach only loopback of the session's own network, by whatever way they connect, and the run works."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from e2e.rig import E2E_FOLDER as ACTORS
from e2e.rig import Run, events_of, run_to_end

from capexplorer import cli
from capexplorer.model.events import Sample

from .test_namespace import WITHOUT_NAMESPACES, python, require_root_and, skip_where_none_is_allowed

LOCUSTFILE = Path(__file__).parent / "locustfiles" / "leaving.py"
PLAN = ("--headless", "--plan", "1:6s")
ENTERED = "from capexplorer import namespace, model; namespace.enter(model.limits.NetworkLimits(), sandbox=True)"


class Outside:
    """A listener on loopback of the network that the tests run in."""

    def __init__(self) -> None:
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self.listener.accept()[0].close()
                self.connections += 1


@contextmanager
def outside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    found = Outside()
    monkeypatch.setenv("OUTSIDE_PORT", str(found.port))
    monkeypatch.setenv("OUTSIDE_PID", str(os.getpid()))
    monkeypatch.setenv("OUTCOMES", str(folder / "outcomes"))
    yield found
    found.listener.shutdown(socket.SHUT_RDWR)
    found.listener.close()


def explored(folder: Path, *args: str) -> tuple[Run, dict[str, str]]:
    run, code = run_to_end(folder, "actor", "-f", str(LOCUSTFILE), *PLAN, *args, cwd=ACTORS)
    assert code == 0, run.stderr
    samples = events_of(run.events(), Sample)
    assert sum(tick.requests - tick.failures for sample in samples for tick in sample.endpoints) > 10
    found: dict[str, str] = json.loads((folder / "outcomes").read_text())
    return run, found


@pytest.mark.slow
def test_without_the_sandbox_users_reach_a_listener_by_ctypes_and_child_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outside(tmp_path, monkeypatch) as service:
        _, outcomes = explored(tmp_path)
    assert [outcomes[way] for way in ("by_ctypes", "by_c_socket", "by_a_child")] == ["connected"] * 3
    assert service.connections >= 3


@pytest.mark.slow
def test_in_the_sandbox_users_reach_no_listener_outside_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_where_none_is_allowed(python(ENTERED))
    with outside(tmp_path, monkeypatch) as service:
        run, outcomes = explored(tmp_path, "--sandbox")
    refused = "Connection refused"
    assert [outcomes[way] for way in ("by_ctypes", "by_c_socket", "by_a_child")] == [refused] * 3
    assert outcomes["by_the_network_of_the_parent"] in ("Operation not permitted", "Permission denied")
    assert service.connections == 0
    assert events_of(run.events(), Sample)[-1].ports, "ports are read in the sandbox"


REFUSED = {
    "a service that runs already": (
        ("--host", "http://127.0.0.1:9"),
        "--sandbox: needs a target that capexplorer starts: the session's own network namespace has only loopback",
    ),
    "a host beyond it": (("--allow-host", "db.example"), "has only loopback, so load cannot go to db.example"),
}


@pytest.mark.parametrize(("args", "message"), REFUSED.values(), ids=REFUSED)
def test_a_target_that_the_sandbox_cannot_reach_is_refused(
    args: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["run", "mixed", "--sandbox", *args, "--headless", "--plan", "1:1s"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_run_fails_in_one_line_without_namespaces() -> None:
    require_root_and(WITHOUT_NAMESPACES)
    command = [
        *WITHOUT_NAMESPACES,
        sys.executable,
        "-m",
        "capexplorer",
        "run",
        "mixed",
        "--sandbox",
        "--headless",
        "--plan",
        "1:1s",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(
        "capexplorer: --sandbox: no network namespace is allowed here (Operation not permitted): allow user"
    )
    assert done.stderr.count("\n") == 1

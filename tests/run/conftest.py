"""Fixtures of tests of runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.remote import run_sockets

from .knee_search import KneeSearch
from .served_run import ServedRun


@pytest.fixture
def search(tmp_path: Path) -> Iterator[KneeSearch]:
    """A search on a service with its knee at 50 users."""
    search = KneeSearch(tmp_path / "search.jsonl")
    yield search
    search.run.end()


@pytest.fixture
def socket_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The first of the two folders for sockets; the other is `b` beside it. Paths of sockets must be short."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        monkeypatch.setattr(run_sockets, "folders", lambda: [Path(name) / "a", Path(name) / "b"])
        yield Path(name) / "a"


@pytest.fixture
def served_run(socket_folder: Path) -> Iterator[ServedRun]:
    """A run with a control server on a socket."""
    run = ServedRun(socket_folder)
    yield run
    run.server.close()
    for connection in run.opened:
        connection.close()

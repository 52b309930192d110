"""Fixtures of tests of runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .search import Search


@pytest.fixture
def search(tmp_path: Path) -> Iterator[Search]:
    """A search of a service with its knee at 50 users."""
    made = Search(tmp_path / "search.jsonl")
    yield made
    made.run.end()

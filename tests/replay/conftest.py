"""Fixtures of tests of replays."""

from __future__ import annotations

from pathlib import Path

import pytest

from .logs import two_levels, write_log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The log of a session of two levels."""
    return write_log(tmp_path / "session.jsonl", two_levels())

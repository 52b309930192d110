"""Moments: of the session everywhere, of the wall clock only with a zone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from capexplorer.wording import session_time, wall_time

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("t_s", "sentence"),
    [(0.0, "00:00"), (59.99, "00:59"), (185.0, "03:05"), (3599.9, "59:59"), (3600.0, "1:00:00"), (90_061.0, "25:01:01")],
)
def test_time_of_a_session(t_s: float, sentence: str) -> None:
    assert session_time(t_s) == sentence


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("2026-01-01T12:00:00.124+01:00", "2026-01-01 11:00:00 UTC"),
        ("2026-01-01T00:30:00-05:00", "2026-01-01 05:30:00 UTC"),
        ("2026-01-01T12:00:00", "2026-01-01T12:00:00"),  # no zone is known, so none is claimed
        ("yesterday", "yesterday"),
        ("", ""),
        (None, ""),
    ],
)
def test_wall_time_has_its_zone(written: str | None, sentence: str) -> None:
    assert wall_time(written) == sentence


def test_moments_are_written_in_one_place() -> None:
    """No other module formats one. Names of files and Locust's own CSV have forms of theirs."""
    own = re.compile(r"// 60\}?:0?2|strftime|:%H|:%M")
    allowed = {"wording/times.py", "session/names.py", "report/locust_csv.py"}
    found = {
        path.relative_to(ROOT / "capexplorer").as_posix()
        for path in (ROOT / "capexplorer").rglob("*.py")
        if own.search(path.read_text())
    }
    assert found - allowed == set()

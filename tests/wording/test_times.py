"""Times of a session (`03:05` since its start) and of the wall clock (in UTC)."""

from __future__ import annotations

import re

import pytest
from kit.package import PACKAGE, modules

from capexplorer.wording import session_time, wall_time, wall_time_at


@pytest.mark.parametrize(
    ("t_s", "shown"),
    [(0.0, "00:00"), (59.99, "00:59"), (185.0, "03:05"), (3599.9, "59:59"), (3600.0, "1:00:00"), (90_061.0, "25:01:01")],
)
def test_the_time_of_a_session_is_minutes_and_seconds_with_hours_if_there_are_any(t_s: float, shown: str) -> None:
    assert session_time(t_s) == shown


@pytest.mark.parametrize(
    ("in_log", "shown"),
    [
        ("2026-01-01T12:00:00.124+01:00", "2026-01-01 11:00:00 UTC"),
        ("2026-01-01T00:30:00-05:00", "2026-01-01 05:30:00 UTC"),
        ("2026-01-01T12:00:00", "2026-01-01T12:00:00"),  # without a zone it cannot be converted to UTC
        ("yesterday", "yesterday"),
        ("", ""),
        (None, ""),
    ],
)
def test_the_time_of_the_wall_clock_is_in_utc_if_its_zone_is_known(in_log: str | None, shown: str) -> None:
    assert wall_time(in_log) == shown


@pytest.mark.parametrize(
    ("started_at", "shown"),
    [
        ("2026-01-01T23:59:00.500+01:00", "2026-01-01T23:00:02Z"),
        ("2026-01-01T12:00:00", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_the_wall_time_of_a_line_in_a_log_is_in_utc(started_at: str, shown: str) -> None:
    assert wall_time_at(started_at, 61.5) == shown


def test_only_wording_times_formats_times() -> None:
    """Except names of files and Locust's CSV files, which have formats of their own."""
    formats_a_time = re.compile(r"// 60\}?:0?2|strftime|:%H|:%M")
    allowed = {"wording/numbers.py", "session/names.py", "report/formats/locust_csv.py"}
    found = {path.relative_to(PACKAGE).as_posix() for path in modules() if formats_a_time.search(path.read_text())}
    assert found - allowed == set()

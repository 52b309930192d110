"""The two ways to write a time: seconds since the session's start, and wall-clock time with its time zone."""

from __future__ import annotations

from datetime import UTC, datetime


def session_time(t_s: float) -> str:
    """Time since the session's start: `01:23`, from one hour on `1:02:03`."""
    whole = max(0, int(t_s))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60:02}:{rest % 60:02}"


def during(began_s: float, ended_s: float) -> str:
    """`from 01:23 to 01:30`, `in the second 01:23`: a stretch of the session."""
    began, ended = session_time(began_s), session_time(ended_s)
    return f"from {began} to {ended}" if began != ended else f"in the second {began}"


def wall_time(written: str | None) -> str:
    """`2026-01-01 11:00:00 UTC` for an ISO 8601 time. A time without an offset stays as written; None gives ""."""
    try:
        moment = datetime.fromisoformat(written or "")
    except ValueError:
        return written or ""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment.tzinfo is not None else written or ""

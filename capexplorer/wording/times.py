"""The two ways to write a moment: time of the session everywhere, wall time only with its zone."""

from __future__ import annotations

from datetime import UTC, datetime


def session_time(t_s: float) -> str:
    """Since the session began: `01:23`, from an hour on `1:02:03`."""
    whole = max(0, int(t_s))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60:02}:{rest % 60:02}"


def wall_time(written: str | None) -> str:
    """`2026-01-01 11:00:00 UTC` of an ISO 8601 moment. One without an offset stays as written; empty for None."""
    try:
        moment = datetime.fromisoformat(written or "")
    except ValueError:
        return written or ""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment.tzinfo is not None else written or ""

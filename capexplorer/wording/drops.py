"""Why iterations of a rate level were dropped, in words."""

from __future__ import annotations

from ..model.events import Drops

DROPS = {
    "max_users": "max_users is too low for this rate",
    "target": "the target holds all users",
    "starting": "users still started",
    "late": "the load thread was late",
    "stopped": "load was taken away",
}
"""By the fields of `Drops`."""


def drops(dropped: Drops) -> str:
    """`the target holds all users: 120, load was taken away: 3`; empty without any."""
    counts = {field: getattr(dropped, field) for field in dropped.__struct_fields__}
    return ", ".join(f"{DROPS[field]}: {count:,}" for field, count in counts.items() if count)

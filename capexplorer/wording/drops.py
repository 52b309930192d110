"""Texts of the reasons why iterations at an offered rate were dropped."""

from __future__ import annotations

from ..model.events import Drops

DROPS = {
    "max_users": "max_users is too low for this rate",
    "target": "all users wait for the target",
    "starting": "users were still starting",
    "late": "the load thread was late",
    "stopped": "the load ended",
}
"""Text by field of `Drops`."""


def drops(dropped: Drops) -> str:
    """`all users wait for the target: 120, the load ended: 3`; empty if none was dropped."""
    counts = {field: getattr(dropped, field) for field in dropped.__struct_fields__}
    return ", ".join(f"{DROPS[field]}: {count:,}" for field, count in counts.items() if count)

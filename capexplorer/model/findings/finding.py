"""Base of all findings: the fields that every kind has."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ..readings import Reading

MarkKind = Literal[
    "knee", "at_or_below", "bend", "latency_knee", "rate_capacity", "rate_recovery", "cause", "bottleneck", "leak", "shift",
    "recovery", "stop_rule", "replies_changed",
]  # fmt: skip


class Finding(Reading, frozen=True, kw_only=True, tag_field="kind"):
    """Base of all findings."""

    LISTED: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that are figures, in the order of reports."""

    @property
    def id(self) -> str:
        """The finding's id; for a cause, a bottleneck or a leak an id of the catalogue."""
        raise NotImplementedError

    def figures(self) -> dict[str, Any]:
        """Figures by name, as JSON values, without those that are not known."""
        known = ((name, getattr(self, name)) for name in self.LISTED)
        return {name: value for name, value in known if value is not None}

"""Marks for tests, described by kind, id and figures as reports list them, with the typed finding that a log's reader makes."""

from __future__ import annotations

from typing import Any

import msgspec

from capexplorer.model.events import Mark
from capexplorer.session.upgrade_marks import upgraded_mark


def marked(*, kind: str, id: str = "", evidence: dict[str, Any] | None = None, **fields: Any) -> Mark:  # noqa: A002
    """`id` and `evidence` are those of schema 1."""
    return msgspec.convert(upgraded_mark({"kind": kind, "id": id, "evidence": evidence or {}, **fields}), Mark)

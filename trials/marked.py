"""Marks for tests, written as in a log of schema 1; the result has the typed finding that the log's reader makes of them."""

from __future__ import annotations

from typing import Any

import msgspec

from capexplorer.model.events import Mark
from capexplorer.session.upgrade_marks import upgraded_mark


def marked(*, kind: str, id: str = "", evidence: dict[str, Any] | None = None, **fields: Any) -> Mark:  # noqa: A002
    """The mark. `id` and `evidence` are those of schema 1."""
    return msgspec.convert(upgraded_mark({"kind": kind, "id": id, "evidence": evidence or {}, **fields}), Mark)

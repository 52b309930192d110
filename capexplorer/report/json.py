"""`export --format json`: the summary. The same session gives the same bytes."""

from __future__ import annotations

from typing import Any

import msgspec


def render(document: dict[str, Any]) -> bytes:
    """The document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"

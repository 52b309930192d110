"""`export --format json`: the summary. The same session gives the same bytes."""

from __future__ import annotations

from typing import Any

import msgspec

from ...model.timeline import Timeline
from ...wording import units
from ..summary import summarise
from . import Format


def render(document: dict[str, Any]) -> bytes:
    """The document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


@units.fixed()
def summary(timeline: Timeline) -> bytes:
    """The summary of a session."""
    return render(summarise(timeline))


FORMAT = Format(name="json", place=4, description="the summary for programs", suffix=".json", text=summary)

"""Waits for what a screen will show or do, however busy the machine is."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from textual.pilot import Pilot

PATIENCE_S = 60.0


async def until(pilot: Pilot[Any], condition: Callable[[], object], what: object = "") -> None:
    """Let the app go on until the condition holds. `pilot.pause` returns when the app is idle, so that this is no busy loop."""
    deadline_s = monotonic() + PATIENCE_S
    while not condition():
        assert monotonic() < deadline_s, f"not seen in {PATIENCE_S:g} s: {what}"
        await pilot.pause(0.01)

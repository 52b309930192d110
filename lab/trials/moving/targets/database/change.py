"""A change that begins AT_S seconds after the first request and lasts FOR_S seconds; 0: for good."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

AT_S, FOR_S = float(os.environ.get("AT_S", "0")), float(os.environ.get("FOR_S", "0"))
LONGEST_S = 3600.0
"""The longest that a change lasts: longer than any run."""


class Change:
    """Calls `change` with its duration in seconds, once."""

    def __init__(self, change: Callable[[float], Awaitable[None]]) -> None:
        self._change = change
        self._task: asyncio.Task[None] | None = None

    def request(self) -> None:
        """To be called at each request; the first one starts the time."""
        if self._task is None:
            self._task = asyncio.create_task(self._later())

    async def _later(self) -> None:
        await asyncio.sleep(AT_S)
        await self._change(FOR_S or LONGEST_S)

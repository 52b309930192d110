"""The screen of a replay whose clock only the test advances."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
from textual.pilot import Pilot

from capexplorer.replay import Replay
from capexplorer.tui.actions.transport import Transport
from capexplorer.tui.app import Ending, ExplorerApp
from capexplorer.tui.feed import FRAME_S, Playback, RecordedFeed

WIDE, NARROW = (120, 40), (80, 24)
"""Columns and rows of terminals."""


READ_WITHIN_S = 60.0
"""A busy machine takes seconds to read the longest log here; only a defect takes this long."""


class ManualClock:
    """A monotonic clock that only the test advances."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class ReplayHarness:
    """The screen of a replay with a clock that only the test advances."""

    def __init__(
        self, path: Path, *, follow: bool = False, speed: float = 1.0, start: str | None = None, whole: bool = False
    ) -> None:
        self.recording, self.clock = Replay(path, follow=follow), ManualClock()
        self.playback = Playback(speed, follows=follow)
        self.feed = RecordedFeed(self.recording, self.playback, start_at=start, whole=whole, monotonic=self.clock)
        self.app = ExplorerApp(self.feed, Transport(self.feed), whole=whole)
        self.screen = self.app.explorer

    @contextlib.asynccontextmanager
    async def run(self, size: tuple[int, int] = NARROW) -> AsyncIterator[Pilot[Ending]]:
        """Show the screen; the log is read and its snapshots for jumps are prepared when this yields."""
        with contextlib.closing(self.recording):
            async with self.app.run_test(size=size) as pilot:
                with anyio.fail_after(READ_WITHIN_S):
                    while self.feed.pause_s < FRAME_S:
                        await pilot.pause(0.01)
                await pilot.pause()
                yield pilot

    async def advance_clock(self, pilot: Pilot[Ending], seconds: float) -> None:
        """Let this much time pass, and draw the next frame."""
        self.clock.now_s += seconds
        self.screen.catch_up()
        await pilot.pause()

    def text(self) -> str:
        """All lines of the screen."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    def bar(self) -> str:
        """The line with the play state, the speed and the position."""
        return next(line for line in self.text().splitlines() if "%" in line and ("▶" in line or "‖" in line))

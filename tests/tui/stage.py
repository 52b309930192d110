"""The app with a fake source and fake controls, and the text of its screen."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from textual.pilot import Pilot

from capexplorer.model.events import Event
from capexplorer.tui.actions.steering import LiveRunActions
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.app import Ending, ExplorerApp
from capexplorer.tui.feed import LiveFeed
from capexplorer.tui.panes.pane import Pane

from .fake_controls import FakeControls
from .fake_source import FakeSource

HUGE, WIDE, NARROW = (200, 60), (120, 40), (80, 24)


class Stage:
    """An app under test with fakes of its event source and its controls."""

    def __init__(self, events: Sequence[Event] = (), *, wanted: int = 1, max_users: int = 2_000, live: bool = True) -> None:
        self.source, self.controls = FakeSource(events), FakeControls(wanted, max_users)
        self.app = ExplorerApp(LiveFeed(self.source), LiveRunActions(self.controls) if live else ViewOnlyActions())

    @contextlib.asynccontextmanager
    async def run(self, size: tuple[int, int] = NARROW) -> AsyncIterator[Pilot[Ending]]:
        async with self.app.run_test(size=size) as pilot:
            await pilot.pause()
            yield pilot

    def screen_text(self) -> str:
        """The text of the screen, line by line."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text for strip in lines)

    def shown(self) -> list[str]:
        return [str(pane.id) for pane in self.app.explorer.query(Pane) if pane.display]

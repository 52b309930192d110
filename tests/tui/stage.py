"""The app with a fake source and fake controls, and the text of its screen."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from textual.pilot import Pilot

from capexplorer.model.controls import Control
from capexplorer.model.events import Event
from capexplorer.model.kept_request import KeptRequests
from capexplorer.tui.actions.steering import LiveRunActions
from capexplorer.tui.app import Ending, ExplorerApp
from capexplorer.tui.feed import LiveFeed
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.protocols import Actions

from .fake_controls import FakeControls
from .fake_source import FakeSource
from .waiting import until

HUGE, WIDE, NARROW = (200, 60), (120, 40), (80, 24)


def typed(keys: str) -> list[str]:
    """The keys of `g '40 enter`, in which ' begins letters that are typed."""
    return [key for word in keys.split() for key in (word[1:] if word[0] == "'" and word[1:] else [word])]


class Stage:
    """An app under test with fakes of its event source and its controls."""

    def __init__(
        self,
        events: Sequence[Event] = (),
        *,
        wanted: int = 1,
        max_users: int = 2_000,
        unattended_s: float = 0.0,
        actions: Callable[[FakeControls], Actions] = LiveRunActions,
        requests: KeptRequests | None = None,
        **state: object,
    ) -> None:
        """`state`: of the controls."""
        self.source, self.controls = FakeSource(events), FakeControls(wanted, max_users, unattended_s=unattended_s)
        self.controls.change(**state)
        self.app = ExplorerApp(LiveFeed(self.source), actions(self.controls), requests=requests)

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


Check = Callable[[Stage], object]
Step = tuple[str | Sequence[Event] | Callable[[Stage], object], *tuple[Check, ...]]
"""Keys, events or what else happens, and what is true then."""


def shows(*texts: str) -> Check:
    return lambda stage: all(text in stage.screen_text() for text in texts)


def hides(*texts: str) -> Check:
    return lambda stage: not any(text in stage.screen_text() for text in texts)


def did(*controls: Control) -> Check:
    """All controls so far."""
    return lambda stage: stage.controls.calls == [*controls]


def says(message: str) -> Check:
    """The whole message in the status line."""
    return lambda stage: stage.app.explorer.status_lines.message == message


def panes(*names: str, focus: str = "") -> Check:
    """The visible panes, or their number; and the one in focus."""
    return lambda stage: stage.shown() == [*names] and focus in ("", getattr(stage.app.explorer.focused, "id", ""))


def on(screen: type) -> Check:
    """The kind of the screen on top; ExplorerScreen: no dialog is open."""
    return lambda stage: isinstance(stage.app.screen, screen)


async def tell(stage: Stage, *steps: Step, size: tuple[int, int] = NARROW) -> Ending | None:
    """Take these steps. Returns what the app returned."""
    async with stage.run(size) as pilot:
        for number, (happens, *checks) in enumerate(steps, 1):
            if isinstance(happens, str):
                await pilot.press(*typed(happens))
            elif callable(happens):
                happens(stage)
            else:
                stage.source.send(*happens)
            for index, check in enumerate(checks, 1):
                try:
                    await until(pilot, lambda check=check: check(stage))  # type: ignore[misc]
                except AssertionError as error:
                    where = f"check {index} of step {number}: {happens!r}"
                    raise AssertionError(f"{where}\n{stage.controls.calls}\n{stage.screen_text()}") from error
    return stage.app.return_value

"""The application of a replay: the live one, with a recording in place of a source and nothing to steer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ..errors import SessionError
from ..model.events import Event
from ..model.recording import Recording
from ..model.stream import Clock
from .app import Ending, ExplorerApp
from .playback import Playback
from .screens.replay import ReplayScreen
from .terminal import Terminal


class ReplayApp(ExplorerApp):
    """`explore` returns how it was left, or raises SessionError when the recording could not be read any more."""

    def __init__(
        self,
        recording: Recording,
        playback: Playback,
        *,
        start: str | None = None,
        mouse: bool = False,
        terminal: Terminal | None = None,
        monotonic: Clock = time.monotonic,
    ) -> None:
        self.replay = ReplayScreen(recording, playback, monotonic=monotonic, start=start)
        super().__init__(_Nothing(), terminal=terminal, screen=self.replay, mouse=mouse)
        self._failure: SessionError | None = None
        self.replay.failed = self._fail

    def explore(self) -> Ending:
        """Run until the user or a signal ends it."""
        ending = super().explore()
        if self._failure is not None:
            raise self._failure
        return ending

    def _fail(self, error: SessionError) -> None:
        self._failure = error
        self.exit(Ending("user"))


class _Nothing:
    """The EventSource of an app whose timelines come otherwise."""

    def start(self, wake: Callable[[], None]) -> None:
        pass

    def take(self) -> Sequence[Event]:
        return ()

    def close(self) -> None:
        pass

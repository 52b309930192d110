"""The picker computes missing verdicts of saved sessions in a thread, which ends when the picker is left."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from capexplorer import paths
from capexplorer.commands import pick
from capexplorer.tui.picker_app import PickerApp

from .fake_sessions import FakeSessions

TIMEOUT_S = 60.0
"""Bound of each wait for the other thread."""


class SlowSessions(FakeSessions):
    """Saved sessions whose search for verdicts has begun with `search_began` and ends with `search_may_end`. `is_stopped` is what
    the picker passes to the search.
    """

    def __init__(self) -> None:
        super().__init__()
        self.search_began, self.search_may_end = threading.Event(), threading.Event()
        self.is_stopped: Callable[[], bool] = lambda: False

    def search(self, stopped: Callable[[], bool]) -> bool:
        self.is_stopped = stopped
        self.search_began.set()
        self.search_may_end.wait(TIMEOUT_S)
        return True


async def test_leaving_the_picker_stops_the_search() -> None:
    sessions = SlowSessions()
    app = PickerApp((), sessions)
    try:
        async with app.run_test() as pilot:
            assert await asyncio.to_thread(sessions.search_began.wait, TIMEOUT_S)
            assert not sessions.is_stopped()
            await pilot.press("q")
        assert sessions.is_stopped()
    finally:
        sessions.search_may_end.set()


def test_after_the_stop_no_verdict_of_another_log_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        shutil.copy(paths.sample_sessions()["sample-taskqueue"], tmp_path / f"{name}.jsonl")
    computed: list[Path] = []
    monkeypatch.setattr(pick, "digest_of", lambda log, judge: computed.append(log))
    assert pick.SessionFolders([tmp_path]).search(lambda: len(computed) == 2)
    assert len(computed) == 2

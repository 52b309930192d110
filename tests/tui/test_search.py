"""The picker's search for verdicts ends when the picker is left, not when every log was judged."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from capexplorer import paths
from capexplorer.commands import session_folder
from capexplorer.tui.picker_app import PickerApp

from .fake_sessions import FakeSessions

TIMEOUT_S = 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class JudgingSessions(FakeSessions):
    """Judges one log for as long as the test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.judged = threading.Event(), threading.Event()
        self.stopped: Callable[[], bool] = lambda: False

    def search(self, stopped: Callable[[], bool]) -> bool:
        self.stopped = stopped
        self.begun.set()
        self.judged.wait(TIMEOUT_S)
        return True


@pytest.mark.anyio
async def test_leaving_the_picker_stops_the_search() -> None:
    judging = JudgingSessions()
    app = PickerApp((), judging)
    try:
        async with app.run_test() as pilot:
            assert await asyncio.to_thread(judging.begun.wait, TIMEOUT_S)
            assert not judging.stopped()
            await pilot.press("q")
        assert judging.stopped()
    finally:
        judging.judged.set()


def test_no_log_is_judged_after_the_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        shutil.copy(paths.sample_sessions()["sample-taskqueue"], tmp_path / f"{name}.jsonl")
    judged: list[Path] = []
    monkeypatch.setattr(session_folder, "digest_of", lambda log, judge: judged.append(log))
    assert session_folder.SessionFolder(tmp_path).search(lambda: len(judged) == 2)
    assert len(judged) == 2

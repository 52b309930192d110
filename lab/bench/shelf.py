"""The picker with a folder of 5,000 sessions: the time to list them, and the time from its start until the list is shown."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from capexplorer import paths
from capexplorer.commands.pick import SessionFolder
from capexplorer.session.catalog import NAME
from capexplorer.session.digest import Digest, path_of
from capexplorer.session.files import write_whole
from capexplorer.tui.picker_app import PickerApp

SESSIONS = 5_000


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples = list(paths.sample_sessions().values())
        for index in range(SESSIONS):
            log = folder / f"20260101-{index:06d}-sample.jsonl"
            shutil.copyfile(samples[index % len(samples)], log)
            status = log.stat()
            found = Digest(size_bytes=status.st_size, changed_ns=status.st_mtime_ns, verdict="No knee up to 10 users.", marks=3)
            write_whole(path_of(log), msgspec.json.encode(found))
        sessions = SessionFolder(folder)
        print(f"{SESSIONS} sessions, listed for the first time: {took_s(sessions.rows):.2f} s")
        print(
            f"listed again ({(folder / NAME).stat().st_size / 1024:.0f} KiB of cache): {took_s(sessions.rows):.2f} s (at most 1)"
        )
        empty = SessionFolder(folder / "none")
        asyncio.run(shown(empty))  # imports modules, which is not measured
        alone_s, all_s = took_s(lambda: asyncio.run(shown(empty))), took_s(lambda: asyncio.run(shown(sessions)))
        print(f"the picker from its start to the list: {all_s:.2f} s (at most 1), without sessions {alone_s:.2f} s")


def took_s(act: Callable[[], object]) -> float:
    """Wall time of a call."""
    began_s = time.perf_counter()
    act()
    return time.perf_counter() - began_s


async def shown(sessions: SessionFolder) -> None:
    """Start the picker, wait until its list is shown, and end it."""
    async with PickerApp((), sessions).run_test(size=(120, 40)) as pilot:
        await pilot.pause()


if __name__ == "__main__":
    main()

"""Another process that uses the machine while a session is at certain levels, and sleeps otherwise.

It reads the level from the session's log. It ends after LONGEST_S, or when it is killed.

    python neighbour.py cpu|memory|disk|idle CORE SESSIONS FIRST_LEVEL LAST_LEVEL
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

LONGEST_S = 240.0
READ_EVERY_S = 0.1
SLICE_S = 0.1
BUFFER_BYTES = 64 << 20
"""More than the caches of any machine: copying it is limited by memory."""

BLOCK_BYTES = 64 << 20
"""Takes a disk longer than many small writes: 0.2 s at 300 MB/s."""

IDLE_SHARE = 0.05
"""Share of a core, as on a desktop or a quiet server."""


def main() -> None:
    kind, core, sessions, first, last = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    use = user_of(kind)
    for level in levels_of(Path(sessions)):
        if int(first) <= level <= int(last):
            use()
        else:
            time.sleep(READ_EVERY_S)


def user_of(kind: str) -> Callable[[], None]:
    match kind:
        case "memory":
            return copier()
        case "disk":
            return writer()
        case _:
            return {"cpu": spin, "idle": doze}[kind]


def spin() -> None:
    ends_s = time.monotonic() + SLICE_S
    while time.monotonic() < ends_s:
        sum(range(1000))


def doze() -> None:
    ends_s = time.monotonic() + IDLE_SHARE * SLICE_S
    while time.monotonic() < ends_s:
        pass
    time.sleep((1 - IDLE_SHARE) * SLICE_S)


def copier() -> Callable[[], None]:
    source, copied = bytearray(BUFFER_BYTES), bytearray(BUFFER_BYTES)

    def copy() -> None:
        ends_s = time.monotonic() + SLICE_S
        while time.monotonic() < ends_s:
            copied[:] = source

    return copy


def writer() -> Callable[[], None]:
    """A function that writes a block to an empty file and waits until it is on the disk. The file has no name, so it ends with
    the process."""
    block, file = bytes(BLOCK_BYTES), tempfile.TemporaryFile(buffering=0)

    def write() -> None:
        file.seek(0)
        file.truncate()
        file.write(block)
        os.fsync(file.fileno())

    return write


def levels_of(folder: Path) -> Iterator[int]:
    """Yields the index of the session's current level each time it is asked; -1 before the first level."""
    ends_s, level, log = time.monotonic() + LONGEST_S, -1, None
    while time.monotonic() < ends_s:
        if log is None and (found := sorted(folder.glob("*.jsonl"))):
            log = found[0].open()
        for line in log or ():
            if line.startswith('{"type":"level",') and line.endswith("\n"):
                level = json.loads(line)["index"]
        yield level


if __name__ == "__main__":
    main()

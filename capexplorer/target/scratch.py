"""A folder in which a target may write, next to the sessions: it is kept across restarts and removed at the end of the session.

Its name holds the app's process id: folders that a crash left behind are recognised by it and removed when the next one is made.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from ..errors import TargetError
from ..paths import PRIVATE_FOLDER
from ..procs.processes import is_alive

_NAME = re.compile(r"\.scratch-(?P<pid>\d+)")


def folder_in(sessions_dir: Path) -> Path:
    """The path of this process's folder; creates nothing."""
    return sessions_dir.resolve() / f".scratch-{os.getpid()}"


def make(folder: Path) -> None:
    """Create the folder, and remove those of processes that have ended. Raises TargetError."""
    try:
        folder.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        for other in folder.parent.iterdir():
            if (found := _NAME.fullmatch(other.name)) and not is_alive(int(found["pid"])):
                remove(other)
    except OSError as error:
        raise TargetError(f"{folder}: {error.strerror}: the target needs a folder to write in") from None


def remove(folder: Path) -> None:
    """Remove the folder; files that cannot be removed stay."""
    shutil.rmtree(folder, ignore_errors=True)

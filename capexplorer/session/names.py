"""Ids and file names of sessions: an id consists of the start time, the profile and four random characters."""

from __future__ import annotations

import os
import re
import secrets
from datetime import datetime
from pathlib import Path

from ..errors import LogWriteError
from ..paths import PRIVATE_FOLDER

SUFFIX = ".jsonl"
_LONGEST_SLUG = 40


def new_path(folder: Path, profile_name: str, started_at: datetime) -> tuple[str, Path]:
    """The id and path of a new session: `YYYYMMDD-HHMMSS-PROFILE-xxxx`, in a folder that is created if missing.

    Raises LogWriteError if the folder cannot be created or written to.
    """
    make_folder(folder)
    profile = slug(profile_name)
    while True:
        name = f"{started_at:%Y%m%d-%H%M%S}-{profile}-{secrets.token_hex(2)}"
        path = folder / f"{name}{SUFFIX}"
        if not path.exists():
            return name, path


def slug(name: str) -> str:
    """`name` reduced to characters that are allowed in a file name and an id."""
    return re.sub(r"[^\w.]+", "-", name, flags=re.ASCII).strip("-.")[:_LONGEST_SLUG] or "session"


def make_folder(folder: Path) -> None:
    """Create the folder if it is missing, private to the user. Raises LogWriteError if it cannot be created or written to, or if
    its name is not UTF-8: logs, screens and other processes could not name the session.
    """
    if os.fsencode(where := os.path.abspath(folder)) != where.encode("utf-8", "replace"):
        raise LogWriteError(f"{where}: the sessions folder has a name that is not UTF-8; choose another one by --sessions-dir")
    try:
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise LogWriteError(f"{folder}: the sessions folder cannot be made: {error.strerror or error}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LogWriteError(f"{folder}: the sessions folder is not writable")

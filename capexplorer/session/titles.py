"""The title that the user gives a session, in a file of its own: the log is never rewritten."""

from __future__ import annotations

from pathlib import Path

from ..errors import SessionError
from ..model import outside
from .files import read_small, write_whole
from .names import SUFFIX

TITLE_SUFFIX = ".title"
LONGEST = 80
"""Greatest number of characters of a title."""
_MOST_BYTES = 32 * LONGEST


def path_of(log: Path) -> Path:
    """Path of the title of a log: `ID.title` in the folder of `ID.jsonl`."""
    return log.with_name(log.name.removesuffix(SUFFIX) + TITLE_SUFFIX)


def read(log: Path) -> str | None:
    """The title as one line; None if there is none, or it cannot be read."""
    try:
        content = read_small(path_of(log), _MOST_BYTES).decode("utf-8", "replace")
        return " ".join(content.split())[:LONGEST] or None
    except OSError:
        return None


def write(log: Path, title: str) -> None:
    """Save the title; an empty one removes the file. Raises SessionError if the folder cannot be written to."""
    path = path_of(log)
    text = outside.text(" ".join(title.split()), LONGEST)
    try:
        if text:
            write_whole(path, f"{text}\n".encode())
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise SessionError(f"{path}: the title cannot be saved: {error.strerror or error}") from None

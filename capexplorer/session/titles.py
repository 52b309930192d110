"""A session's title: what its owner calls it, in a file beside the log. The log itself is never rewritten."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import SessionError
from .names import SUFFIX

TITLE_SUFFIX = ".title"
LONGEST = 80
"""Characters: a list shows fewer."""


def path_of(log: Path) -> Path:
    """`ID.title` beside `ID.jsonl`."""
    return log.with_name(log.name.removesuffix(SUFFIX) + TITLE_SUFFIX)


def read(log: Path) -> str | None:
    """One line, or None; a title that cannot be read is none, since the session is what matters."""
    try:
        with path_of(log).open(encoding="utf-8", errors="replace") as file:
            return " ".join(file.read(8 * LONGEST).split())[:LONGEST] or None
    except OSError:
        return None


def write(log: Path, title: str) -> None:
    """An empty one takes the title away. Raises SessionError: the folder cannot be written to."""
    path = path_of(log)
    said = " ".join(title.split())[:LONGEST]
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        if not said:
            path.unlink(missing_ok=True)
            return
        new.write_text(f"{said}\n", encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        raise SessionError(f"{path}: the title cannot be saved: {error.strerror or error}") from None
    finally:
        new.unlink(missing_ok=True)

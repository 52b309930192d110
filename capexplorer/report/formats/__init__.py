"""The formats of `export`, and how they are written to stdout or to disk.

A format is a module of this folder with a `FORMAT`; nothing else names it. Events are redacted before any format has them.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path

import msgspec

from ...errors import InputError
from ...model.events import Event
from ...model.timeline import Timeline
from ..writing import Files, write_files, write_folder


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One format, which has `text`, `files` or `files_of_log`."""

    name: str
    place: int
    """Its place in lists."""
    description: str
    """A few words for the export form, for help and for docs/exports.md."""
    suffix: str = ""
    """Suffix of the file that it writes, which may have a picture in the same folder; empty: it writes a folder of files."""
    text: Callable[[Timeline], bytes] | None = None
    """Makes the text for stdout, and the file of a format without `files`; None: the format cannot be written to stdout."""
    text_lacks: str = ""
    """A note on what that text leaves out; empty if nothing."""
    files: Callable[[Timeline, str], Files] | None = None
    """Makes the files from a timeline and the name of the output."""
    files_of_log: Callable[[Iterable[Event]], Files] | None = None
    """Makes the files from the events of a log, for a format that needs more than a timeline has."""

    @property
    def live(self) -> bool:
        """Whether it can be written from a timeline; otherwise it needs the log's events."""
        return self.files_of_log is None

    def to_text(self, events: Iterable[Event]) -> bytes:
        """The text for stdout. Raises InputError for a format that only makes a folder."""
        if self.text is None:
            raise InputError(f"--format {self.name}: writes several files; name a folder with -o")
        return self.text(Timeline(events))

    def of_log(self, events: Iterable[Event], name: str) -> Files:
        """The files of a log's events. `name`: that of the output. Raises InputError if there is nothing to write."""
        return self.files_of_log(events) if self.files_of_log is not None else self.of_timeline(Timeline(events), name)

    def of_timeline(self, timeline: Timeline, name: str) -> Files:
        """The files of a timeline, which may still grow. Raises InputError as `of_log`, and for a format that needs the log."""
        if self.files is not None:
            return self.files(timeline, name)
        if self.text is None:
            raise InputError(f"{self.name}: cannot be written from the screen; export the saved session")
        return {name: self.text(timeline)}

    def write(self, files: Files, path: Path, *, force: bool) -> int:
        """Write the files to `path`. Returns the number of bytes. Raises InputError if it exists or cannot be written."""
        if self.suffix:
            write_files(path, files, force=force)
        elif path.suffix in (".csv", ".hgrm"):
            raise InputError(f"{path}: this format writes several files; -o names a folder for them")
        else:
            write_folder(path, files, force=force)
        return sum(map(len, files.values()))


def _all() -> list[Format]:
    modules = (import_module(each.name) for each in pkgutil.iter_modules(__path__, f"{__name__}."))
    return sorted((module.FORMAT for module in modules), key=lambda each: each.place)


FORMATS: Mapping[str, Format] = {each.name: each for each in _all()}

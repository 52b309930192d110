"""Writes reports to disk: completely or not at all, new files private, and existing files are overwritten only with `force`."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from ..errors import InputError
from ..paths import PRIVATE_FILE, PRIVATE_FOLDER

Files = Mapping[str, bytes]
"""Contents by file name, without folders."""


def write_file(path: Path, content: bytes, *, force: bool) -> None:
    """Write one file. Raises InputError if it exists and `force` is not given, or if it cannot be written."""
    write_files(path, {path.name: content}, force=force)


def check_writable(path: Path, *, force: bool) -> None:
    """Raises InputError as `write_file` does, before there is anything to write."""
    _folder(path)
    _refuse(path, force=force)


def write_files(path: Path, files: Files, *, force: bool) -> None:
    """Write a file and others into its folder: none if one may not be written. The file that `path` names is written last.

    Raises InputError as `write_file` does.
    """
    folder = _folder(path)
    _refuse(*(folder / name for name in files), force=force)
    with _one_line_errors(path):
        for name in sorted(files, key=lambda name: name == path.name):
            _replace(folder / name, files[name])


def write_folder(path: Path, files: Files, *, force: bool) -> None:
    """Write a folder of files. A folder that is not empty is written into only with `force`; its other files stay.

    Raises InputError as `write_file` does.
    """
    _folder(path)
    with _one_line_errors(path):
        if path.is_dir() and any(path.iterdir()):
            if not force:
                raise AlreadyThere(f"{path}: exists already and is not empty; --force writes into it")
            _refuse(*(path / name for name in files), force=True)
            for name, content in files.items():
                _replace(path / name, content)
        elif path.exists() and not path.is_dir():
            raise InputError(f"{path}: exists and is no folder; this format writes several files")
        else:
            _new_folder(path.resolve(), files)


def _folder(path: Path) -> Path:
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{path}: there is no folder {folder}")
    return folder


def _refuse(*paths: Path, force: bool) -> None:
    for path in paths:
        with _one_line_errors(path):
            if path.is_dir():
                raise InputError(f"{path}: is a folder; this format writes a file")
            if path.exists() and not path.is_file():
                raise InputError(f"{path}: not a regular file")
            if path.exists() and not force:
                raise AlreadyThere(f"{path}: exists already; --force overwrites it")


def _replace(path: Path, content: bytes) -> None:
    """Write a new file into the same folder and rename it, so that a reader sees either the old file or the new one. The target
    of a link is replaced.
    """
    path = path.resolve()
    new = path.with_name(f".{path.name[:200]}.{os.getpid()}.new")
    try:
        _create(new, content)
        if path.is_file():
            new.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _create(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), PRIVATE_FILE), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _new_folder(path: Path, files: Files) -> None:
    """Write a new folder into the same parent and rename it. An empty folder of that name is replaced."""
    new = path.with_name(f".{path.name[:200]}.{os.getpid()}.new")
    new.mkdir(PRIVATE_FOLDER)
    try:
        for name, content in files.items():
            _create(new / name, content)
        if path.is_dir():
            new.chmod(stat.S_IMODE(path.stat().st_mode))
        with contextlib.suppress(FileNotFoundError):
            path.rmdir()  # not every system renames over an empty folder
        new.rename(path)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


class AlreadyThere(InputError):
    """Files exist that are overwritten only with `force`."""


class _one_line_errors(contextlib.AbstractContextManager[None]):  # noqa: N801 - reads as a word
    """A context that turns errors of the operating system into an InputError of one line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise InputError(f"{self._path}: cannot be written: {error.strerror or error}") from None
        if isinstance(error, ValueError):  # a NUL in the name
            raise InputError(f"{str(self._path)!r}: cannot be written: {error}") from None

"""The user's configuration file: preferences on which no session depends. Read at each start, written when a theme is chosen.

`config.toml` in the user's configuration folder (XDG on Linux), or the file that `--config` or CAPEXPLORER_CONFIG names.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import platformdirs
from msgspec import Meta

from . import toml
from .errors import InputError

VARIABLE = "CAPEXPLORER_CONFIG"

Markers = Literal["braille", "octants", "blocks", "ascii"]
"""What charts are drawn with."""
Theme = Literal[
    "capexplorer-dark", "capexplorer-light", "capexplorer-16-colours",
    "ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light", "catppuccin-frappe", "catppuccin-latte", "catppuccin-macchiato",
    "catppuccin-mocha", "dracula", "flexoki", "gruvbox", "monokai", "nord", "rose-pine", "rose-pine-dawn", "rose-pine-moon",
    "solarized-dark", "solarized-light", "textual-dark", "textual-light", "tokyo-night",
]  # fmt: skip
"""The screen's own themes and Textual's, by name, since commands without a screen check them without importing Textual."""
KeyNames = Annotated[str, Meta(min_length=1)] | Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)]

_THEME = re.compile(r"^[ \t]*theme[ \t]*=.*$", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file. Every key may be left out."""

    theme: Theme | None = None
    """Colours of the screen; choosing a theme there (Ctrl+P) writes this key. Default: capexplorer-dark, with 16 colours
    capexplorer-16-colours."""
    window_s: Literal[60, 300, 900, "all"] = 300
    """Time window of the charts at the start, in seconds; the key `w` changes it."""
    markers: Markers | None = None
    """Characters of the charts. Octants need a terminal, a font and a tmux with Unicode 16; blocks and ascii have a quarter of
    the resolution. Default: braille; on the Linux console, which has none, blocks."""
    byte_units: Literal["binary", "decimal"] = "binary"
    """Units of bytes on the screen and in reports: powers of 1024 (KiB, MiB) or of 1000 (kB, MB). JSON and CSV stay as they
    are."""
    latency_units: Literal["ms", "s", "auto"] = "ms"
    """Units of latencies there; auto: for each value the one of µs, ms and s that leaves at most three digits before the point.
    Narrow columns show ten seconds and more as `42.1s`."""
    sessions_dir: Annotated[str, Meta(min_length=1)] | None = None
    """Folder in which all commands save and look up sessions; `--sessions-dir` overrides it. `~` is your home folder. Default:
    `~/.local/share/capexplorer/sessions` (`$XDG_DATA_HOME` is respected; on macOS `~/Library/Application Support`), from any
    folder. In a checkout its `sessions`, the default of earlier versions, is searched as well."""
    keys: dict[str, KeyNames] = {}
    """Other keys for actions, by the action's name."""

    @property
    def sessions_folder(self) -> Path | None:
        """`sessions_dir`, with the home folder. Raises InputError: there is none."""
        if self.sessions_dir is None:
            return None
        try:
            return Path(self.sessions_dir).expanduser()
        except RuntimeError:
            raise InputError(
                f"{path()}: sessions_dir: {self.sessions_dir}: there is no such home folder: name it in full"
            ) from None


def user_folder(find: Callable[[str], str]) -> Path | None:
    """The folder that `find` of platformdirs names; None if the user has no home folder, as in some containers: versions of it
    raise then, or leave the `~`.
    """
    try:
        found = Path(find("capexplorer"))
    except RuntimeError:
        return None
    return found if found.is_absolute() else None


def path() -> Path | None:
    """The file that holds, whether it exists or not; None: there is no home folder."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    folder = user_folder(platformdirs.user_config_dir)
    return None if folder is None else folder / "config.toml"


def load() -> Configuration:
    """What the file says; the defaults where there is none. Raises InputError: a named file is not there, wrong content."""
    where = path()
    if where is None or (not os.path.lexists(where) and not os.environ.get(VARIABLE)):
        return Configuration()
    return toml.load(where, Configuration)


def keep_theme(name: str) -> None:
    """Write the theme to the file, and leave all else in it as it is. Raises InputError: it cannot be written."""
    where = path()
    if where is None:
        raise InputError("theme: cannot be kept without a home folder: set HOME or XDG_CONFIG_HOME")
    where = where.resolve()  # of a link, the file itself
    try:
        text = where.read_text("utf-8") if where.exists() else ""
        changed = _with_theme(text, name)
        if _parsed(changed) != {**toml.parse(text, str(where)), "theme": name}:
            raise InputError(f"{where}: theme: cannot be changed in this file; write theme = {name!r} yourself")
        where.parent.mkdir(parents=True, exist_ok=True)
        _replace(where, changed)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: cannot be written: {getattr(error, 'strerror', None) or error}") from None


def _with_theme(text: str, name: str) -> str:
    """Its line replaced, or put before all others."""
    line = f'theme = "{name}"'
    table = _TABLE.search(text)
    top = len(text) if table is None else table.start()
    found = _THEME.search(text, 0, top)
    return f"{line}\n{text}" if found is None else text[: found.start()] + line + text[found.end() :]


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return toml.parse(text, "")
    except InputError:
        return None


def _replace(where: Path, text: str) -> None:
    """At once, so that a crash leaves the old file or the new one."""
    descriptor, hidden = tempfile.mkstemp(dir=where.parent, prefix=f".{where.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(hidden, where)
    except BaseException:
        os.unlink(hidden)
        raise

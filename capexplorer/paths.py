"""The folders of profiles and targets: the working folder first, then the checkout, then the wheel's copies. The folders of
sessions: the user's data folder, then the checkout's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import platformdirs

from . import configuration
from .configuration import user_folder
from .errors import InputError
from .toml import nearest

PRIVATE_FILE = 0o600
"""Logs, titles and exports contain commands, host names and a target's output, so other users may not read them, whatever the
umask.
"""
PRIVATE_FOLDER = 0o700

_PACKAGE = Path(__file__).resolve().parent
_USERS = re.compile(r"^[ \t]*(\[{1,2}[ \t]*users\b|users[ \t]*[.=])", re.MULTILINE)
"""The first line of a table `users`, in any form that TOML allows."""
_SHIPPED = _PACKAGE / "shipped"
"""Only in a wheel: copies of the top-level targets/ and profiles/, and of the samples in sessions/."""


def checkout() -> Path | None:
    """The repository this runs from, or None when installed from a wheel."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "targets").is_dir() else None


def _roots() -> list[Path]:
    roots = [Path.cwd(), checkout() or _SHIPPED]
    return list(dict.fromkeys(root.resolve() for root in roots))


def sample_profiles() -> Path:
    """The folder of the profiles that come with capexplorer."""
    return ((checkout() or _SHIPPED) / "profiles").resolve()


def profiles(folders: Iterable[Path] | None = None) -> dict[str, Path]:
    """All profiles by name, first those of the folders (default: the working folder) and of their profiles/, then the samples."""
    found: dict[str, Path] = {}
    for folder in (Path.cwd(),) if folders is None else folders:
        own = folder.resolve()
        for path in (*sorted((own / "profiles").glob("*.toml")), *filter(_has_users, sorted(own.glob("*.toml")))):
            found.setdefault(path.stem, path)
    for path in sorted(sample_profiles().glob("*.toml")):
        found.setdefault(path.stem, path)
    return found


def own_profiles() -> dict[str, Path]:
    """Those of the working folder, without the ones that come with capexplorer."""
    return {name: path for name, path in profiles().items() if path.parent.resolve() != sample_profiles()}


def _has_users(path: Path) -> bool:
    """Whether a TOML file is meant as a profile, even if invalid: it has a table `users`, unlike pyproject.toml."""
    try:
        return _USERS.search(path.read_text("utf-8", "replace")) is not None
    except OSError:
        return False


def targets() -> dict[str, Path]:
    """All targets' folders by name, the working folder's first."""
    found: dict[str, Path] = {}
    for root in _roots():
        for path in sorted((root / "targets").glob("*/target.toml")):
            found.setdefault(path.parent.name, path.parent)
    return found


def profile(name_or_path: str) -> Path:
    """A profile by name or by path. Raises InputError that names the most similar one."""
    path = Path(name_or_path)
    if path.suffix == ".toml" or "/" in name_or_path:
        if not os.path.isfile(path):  # False, too, for a name that is too long
            raise InputError(f"{name_or_path}: no such profile")
        return path
    known = profiles()
    if name_or_path not in known:
        otherwise = f"expected {name_or_path}.toml in this folder, or one that `capexplorer profiles` lists"
        raise InputError(f"no profile `{name_or_path}`; {nearest(name_or_path, known, otherwise)}")
    return known[name_or_path]


def target(name: str, named_by: str) -> Path:
    """A target's folder by name. `named_by` is the file and key that name it."""
    known = targets()
    if name not in known:
        raise InputError(f"{named_by}: no target `{name}`; {nearest(name, known)}")
    return known[name]


def new_sessions(named: Path | None = None) -> Path:
    """The folder in which sessions are saved: the one that is named (`--sessions-dir`, `sessions_dir` of the configuration file),
    else one in the user's data folder, whatever the working folder. Raises InputError: there is no home folder.
    """
    if named is not None:
        return named
    data = user_folder(platformdirs.user_data_dir)
    if data is None:
        raise InputError("no home folder for sessions: set HOME or XDG_DATA_HOME, or name a folder by --sessions-dir")
    return data / "sessions"


def sessions(named: Path | None = None) -> tuple[Path, ...]:
    """The folders in which sessions are looked up: that of new ones first, which alone counts if it is named; then that of the
    checkout, which was the default of earlier versions. Of sessions with the same id the first one found counts. Raises
    InputError as `new_sessions` does.
    """
    root, own = checkout(), new_sessions(named)
    earlier = root / "sessions" if root is not None and named is None else None
    return (own, earlier) if earlier is not None and os.access(earlier, os.R_OK | os.X_OK) else (own,)


def usual_sessions() -> tuple[Path, ...]:
    """The folders in which commands without `--sessions-dir` look sessions up. Raises InputError as `sessions` does, and for the
    configuration file.
    """
    return sessions(configuration.load().sessions_folder)


def listed(folders: Iterable[Path]) -> str:
    """The folders in a line of text, with `~` for the home folder."""
    home = Path(os.path.expanduser("~"))
    has_own = home.parent != home  # an empty HOME leads to the root folder
    return " and ".join(f"~/{each.relative_to(home)}" if has_own and each.is_relative_to(home) else str(each) for each in folders)


def sample_sessions() -> dict[str, Path]:
    """The sample sessions that come with capexplorer, by name: `sample`, and names that begin with it."""
    folder = (checkout() or _SHIPPED) / "sessions"
    return {path.stem: path for path in sorted(folder.glob("sample*.jsonl"))}

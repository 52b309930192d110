"""Where the sockets of runs are: `SESSION.sock` in a folder of this user that nobody else can enter.

There are two: the user's runtime folder, and one in /tmp. The first is removed when the user's last login ends, for example when
the only SSH connection is lost; a run then listens in the second. So both are searched.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Mapping
from pathlib import Path

from ..errors import InputError

SUFFIX = ".sock"
_PRIVATE_FOLDER = 0o700
_CONNECTS_WITHIN_S = 2.0


def folders() -> list[Path]:
    """The folders that a run may listen in, the preferred one first: the runtime folder, then one in /tmp."""
    user = os.geteuid()
    named = os.environ.get("XDG_RUNTIME_DIR")
    runtime = [Path(named)] if named else []
    runtime += [Path(f"/run/user/{user}")]
    return [*dict.fromkeys(each / "capexplorer" for each in runtime), Path(f"/tmp/capexplorer-{user}")]


def make_folder(folder: Path) -> bool:
    """Create a folder of `folders`; returns whether it exists now and is private. Its parent is not created."""
    with contextlib.suppress(OSError):
        folder.mkdir(_PRIVATE_FOLDER)
    return is_private(folder)


def is_private(folder: Path) -> bool:
    """Whether it is a folder of this user that nobody else can enter: in /tmp anybody may have created one of that name."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def why_none() -> str | None:
    """Why a run cannot listen, so that no screen can be attached to it; None if it can. Creates the folder."""
    if any(map(make_folder, folders())):
        return None
    last = folders()[-1]
    try:
        found = os.lstat(last)
    except OSError as error:
        return f"{last}: {(error.strerror or str(error)).lower()}"
    if found.st_uid != os.geteuid():
        return f"{last} belongs to user {found.st_uid}"
    return f"{last} is not a folder that only this user can enter"


def running() -> dict[str, Path]:
    """The sockets of the runs that listen now, by session id. Sockets that a killed run left behind are removed."""
    found: dict[str, Path] = {}
    for folder in filter(is_private, folders()):
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            if _listens(path):
                found.setdefault(path.name.removesuffix(SUFFIX), path)
    return found


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_CONNECTS_WITHIN_S)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:  # nobody listens any more
            path.unlink(missing_ok=True)
            return False
        except OSError:
            return False
    return True


def find(name: str | None, runs: Mapping[str, Path], titles: Mapping[str, str | None]) -> tuple[str, Path]:
    """(id, socket) of the session `name` among `runs` (see `running`): an id, the path of a log, `last`, or a part of a single
    run's id or title (`titles`, by id); None: the only run. Raises InputError.
    """
    if name is not None and name in runs:
        return name, runs[name]
    wanted = Path(name).name.removesuffix(".jsonl") if name not in (None, "last") else ""
    meant = sorted(each for each in runs if each.startswith(wanted))
    if name == "last" and meant:
        return meant[-1], runs[meant[-1]]
    if not meant:
        meant = sorted(each for each in runs if wanted.casefold() in f"{each}\n{titles.get(each) or ''}".casefold())
    if len(meant) == 1:
        return meant[0], runs[meant[0]]
    raise InputError(_unclear(name, sorted(runs), meant))


def _unclear(name: str | None, runs: list[str], meant: list[str]) -> str:
    if not runs:
        none = f"there is no socket of a run in {' or '.join(map(str, folders()))}"
        return f"session `{name}` is not running: {none}" if name else f"no run is going on: {none}"
    if name is None:
        return f"{len(runs)} runs are going on; name one: {', '.join(runs)}"
    if meant:
        return f"session `{name}` is not unique: {', '.join(meant)}"
    return f"session `{name}` is not running; these are: {', '.join(runs)}"

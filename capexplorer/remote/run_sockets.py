"""Where the sockets of runs are: `SESSION.sock` in a folder of this user's that nobody else can enter.

The runtime folder is removed when the user's last login ends, as it does where a dropped SSH connection was the only one; a run
then listens in the other folder. So both are looked at.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

from ..errors import InputError

SUFFIX = ".sock"
_PRIVATE_FOLDER = 0o700
_CONNECTS_WITHIN_S = 2.0


def folders() -> list[Path]:
    """Those that a run may listen in, the best first: the runtime folder, and one in /tmp for where there is none."""
    user = os.geteuid()
    named = os.environ.get("XDG_RUNTIME_DIR")
    runtime = [Path(named)] if named else []
    runtime += [Path(f"/run/user/{user}")]
    return [*dict.fromkeys(each / "capexplorer" for each in runtime), Path(f"/tmp/capexplorer-{user}")]


def make_folder(folder: Path) -> bool:
    """Whether it is there now, and private. A runtime folder is not made, only ours in it."""
    with contextlib.suppress(OSError):
        folder.mkdir(_PRIVATE_FOLDER)
    return is_private(folder)


def is_private(folder: Path) -> bool:
    """Whether it is a folder of this user's that nobody else can enter: in /tmp anyone may have made one of that name."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def running() -> dict[str, Path]:
    """The runs that listen now: session id to socket. Sockets that a killed run left behind are removed."""
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


def find(name: str | None) -> tuple[str, Path]:
    """The running session that `name` means, an id or what only one id begins with; None: the only one. Raises InputError."""
    runs = running()
    if name in runs:
        return name, runs[name]
    wanted = Path(name).name.removesuffix(".jsonl") if name not in (None, "last") else ""
    meant = sorted(each for each in runs if each.startswith(wanted))
    if name == "last" and meant:
        return meant[-1], runs[meant[-1]]
    if len(meant) == 1:
        return meant[0], runs[meant[0]]
    raise InputError(_unclear(name, sorted(runs), meant))


def _unclear(name: str | None, runs: list[str], meant: list[str]) -> str:
    if not runs:
        return f"session `{name}` is not running: no run is, of this user" if name else "no run of this user is going on"
    if name is None:
        return f"{len(runs)} runs are going on; name one: {', '.join(runs)}"
    if meant:
        return f"session `{name}` is not unique: {', '.join(meant)}"
    return f"session `{name}` is not running; these are: {', '.join(runs)}"

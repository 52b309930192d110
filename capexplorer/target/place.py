"""Where a target runs: at a port that no client's ephemeral port can take from it, with a folder in which it may write.

The folder is next to the sessions, kept across restarts and removed at the end of the session. Its name holds the app's process
id, and whose it is: folders that a crash left behind are recognised by them and removed when the next one is made. Runs in
several containers may share the folder of sessions, and have ids of their own: the same one, or one that ended elsewhere. The
C-level socket, which gevent does not patch, tries ports.
"""

from __future__ import annotations

import _socket
import os
import random
import re
import secrets
import shutil
from pathlib import Path

from ..errors import TargetError
from ..paths import PRIVATE_FOLDER
from ..procs.processes import is_alive

_LOWEST = 8000
"""Above the ports that are commonly chosen by hand."""

_IANA_EPHEMERAL = (49_152, 65_535)
"""macOS and Windows."""

_TRIES = 200


def free_port() -> int:
    """A port that can be bound on 127.0.0.1 now, outside the ephemeral range unless that leaves none."""
    low, high = ephemeral_range()
    outside = [*range(_LOWEST, min(low, 65_536)), *range(max(high + 1, _LOWEST), 65_536)]
    candidates = outside or range(_LOWEST, 65_536)
    tried: list[int] = random.sample(candidates, min(_TRIES, len(candidates)))
    for port in tried:
        if port_is_free(port):
            return port
    raise TargetError(f"no free port found outside {low}-{high} in {_TRIES} tries")


def port_is_free(port: int) -> bool:
    """Whether 127.0.0.1:port can be bound now; without SO_REUSEADDR, so a port with TIME_WAIT sockets is not."""
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    finally:
        probe.close()
    return True


def ephemeral_range() -> tuple[int, int]:
    """First and last ephemeral port of this network namespace; IANA's where the kernel does not report it."""
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
    except OSError:
        return _IANA_EPHEMERAL
    return int(low), int(high)


_NAME = re.compile(r"\.scratch-(?P<ids>\d+)-(?P<pid>\d+)-\w+")


def scratch_folder(sessions_dir: Path) -> Path:
    """A path for this process's folder, a new one at each call; creates nothing."""
    return sessions_dir.resolve() / f".scratch-{namespace_of_ids()}-{os.getpid()}-{secrets.token_hex(4)}"


def namespace_of_ids() -> int:
    """Of this process: in another one its id is another's (Linux; 0 elsewhere)."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def make_scratch(folder: Path) -> None:
    """Create the folder, and remove those of processes that have ended. Raises TargetError."""
    try:
        folder.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        for other in folder.parent.iterdir():
            found = _NAME.fullmatch(other.name)
            if found and int(found["ids"]) == namespace_of_ids() and not is_alive(int(found["pid"])):
                remove_scratch(other)
    except OSError as error:
        raise TargetError(f"{folder}: {error.strerror}: the target needs a folder to write in") from None


def remove_scratch(folder: Path) -> None:
    """Remove the folder; files that cannot be removed stay."""
    shutil.rmtree(folder, ignore_errors=True)

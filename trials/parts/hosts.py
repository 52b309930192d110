"""Hosts that are read under conditions: without Python 3, as another user, with a clock that is off, over a slow link."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .row import Host

CLOCK_OFF_S = 90.0
_OF_SHELL = ("cat", "date", "grep", "sh", "tr")
"""All that the reader without Python needs."""

_CLOCK_OFF = f"""#!{sys.executable} -IS
import sys, time
true = time.time
time.time = lambda: true() + {CLOCK_OFF_S}
code = sys.argv.index("-c")
program, sys.argv = sys.argv[code + 1], sys.argv[code:code + 1] + sys.argv[code + 2:]
exec(compile(program, "<string>", "exec"), {{"__name__": "__main__"}})
"""


def transport(at: str, host: Host, folder: Path) -> str:
    """The command that gives a shell there, under the row's condition. `folder`: where its programs may be put."""
    match host:
        case "without python":
            return f"{at} env PATH={_programs(folder)}"
        case "another user":
            return f"{at} su -s /bin/sh nobody -c"
        case "clock off":
            python = folder / "off" / "python3"
            python.parent.mkdir(exist_ok=True)
            python.write_text(_CLOCK_OFF)
            python.chmod(0o755)
            return f"{at} env PATH={python.parent}:/usr/bin:/bin"
        case _:
            return at


def _programs(folder: Path) -> Path:
    own = folder / "programs"
    own.mkdir(exist_ok=True)
    for name in _OF_SHELL:
        if not (own / name).exists():
            (own / name).symlink_to(str(shutil.which(name)))
    return own


def slow(words: Sequence[str], device: str, direction: str, port: int) -> None:
    """100 ms and 1% loss for what leaves by a device to (`dport`) or from (`sport`) a port; requests are not delayed."""
    matched = f"match ip protocol 6 0xff match ip {direction} {port} 0xffff"
    for line in (
        f"tc qdisc add dev {device} root handle 1: prio bands 4",
        f"tc qdisc add dev {device} parent 1:4 netem delay 100ms loss 1%",
        f"tc filter add dev {device} protocol ip parent 1: prio 1 u32 {matched} flowid 1:4",
    ):
        subprocess.run([*words, *line.split()], check=True)

"""Conditions under which hosts are read: without Python 3, as another user, with a clock that is off, over a slow link."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from .row import Host

CLOCK_OFF_S = 90.0
_SHELL_PROGRAMS = ("cat", "date", "grep", "sh", "tr")
"""All programs that the reader without Python needs."""

_CLOCK_OFF = f"""#!{sys.executable} -IS
import sys, time
true = time.time
time.time = lambda: true() + {CLOCK_OFF_S}
code = sys.argv.index("-c")
program, sys.argv = sys.argv[code + 1], sys.argv[code:code + 1] + sys.argv[code + 2:]
exec(compile(program, "<string>", "exec"), {{"__name__": "__main__"}})
"""


def transport(at: str, host: Host, folder: Path) -> str:
    """The command `at`, which opens a shell on the host, changed so that the row's condition holds. `folder`: for programs
    that it needs."""
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
        case "slow link":
            relay = f"{sys.executable} {Path(__file__).with_name('slow_link.py')} %h %p"
            return at.replace("ssh ", f"ssh -o 'ProxyCommand={relay}' ", 1)
        case _:
            return at


def _programs(folder: Path) -> Path:
    own = folder / "programs"
    own.mkdir(exist_ok=True)
    for name in _SHELL_PROGRAMS:
        if not (own / name).exists():
            (own / name).symlink_to(str(shutil.which(name)))
    return own

"""The test bed of the parts: a network namespace with an SSH server for each, joined by a bridge in the generator's namespace; or
one namespace for all. Hosts may be read without Python 3, as another user, with a clock that is off, over a slow link.

Namespaces end with the processes that hold them. The parts share process ids, files and cores.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lab.kit.namespaces import network
from lab.kit.servers import SSH_OPTIONS, make_keys, sshd_of

from .shop import PARTS, Host, Part, PartHost, Place, Testbed, listens

SSH_PORT = 2222
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


@contextmanager
def testbed(place: Place, host: Host, folder: Path) -> Iterator[Testbed]:
    """The test bed during the block. `folder`: for keys and logs."""
    with ExitStack() as stack:
        if place == "here":
            prefix = stack.enter_context(network())
            yield Testbed(prefix, {part: PartHost(prefix, "127.0.0.1", "") for part in PARTS})
            return
        bridge = ("ip link add hub type bridge", "ip addr add 10.77.0.1/24 dev hub", "ip link set hub up")
        hub = stack.enter_context(network(bridge))
        make_keys(folder)
        hosts = {part: _part_host(stack, hub, part, f"10.77.0.{index + 2}", host, folder) for index, part in enumerate(PARTS)}
        yield Testbed(hub, hosts)


def _part_host(stack: ExitStack, hub: tuple[str, ...], part: Part, address: str, host: Host, folder: Path) -> PartHost:
    prefix = stack.enter_context(network())
    holder = prefix[1].split("/")[2]
    for line in (
        f"ip link add to-{part} type veth peer name eth0 netns {holder}",
        f"ip link set to-{part} master hub",
        f"ip link set to-{part} up",
    ):
        subprocess.run([*hub, *line.split()], check=True)
    for line in (f"ip addr add {address}/24 dev eth0", "ip link set eth0 up"):
        subprocess.run([*prefix, *line.split()], check=True)
    stack.enter_context(sshd_of(folder, address, SSH_PORT, lambda: listens(prefix, address, SSH_PORT), prefix))
    ssh = ["ssh", *SSH_OPTIONS, "-p", str(SSH_PORT), "-o", f"IdentityFile={folder / 'user'}", f"root@{address}"]
    return PartHost(prefix, address, transport(shlex.join(ssh), host, folder))


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

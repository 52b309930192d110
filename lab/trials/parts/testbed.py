"""The test bed of the parts: a network namespace with an SSH server for each, joined by a bridge in the generator's namespace; or
one namespace for all.

Namespaces end with the processes that hold them. The parts share process ids, files and cores.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.trials.faults.testbed import namespace
from lab.trials.programs import find

from . import hosts
from .row import PARTS, Host, Part, Place

SSH_PORT = 2222
TIMEOUT_S = 30.0
_SSHD = """
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
"""


@dataclass(frozen=True, slots=True)
class PartHost:
    """The host of one part."""

    prefix: tuple[str, ...]
    """Prefix of a command to run it on this host."""
    address: str
    at: str
    """The transport of its reader, as `at` in `[[watch]]`."""


@dataclass(frozen=True, slots=True)
class Testbed:
    """The hosts of all parts. `prefix`: prefix of a command to run it on the generator's host."""

    prefix: tuple[str, ...]
    hosts_by_part: dict[Part, PartHost]

    def cut(self, part: Part) -> None:
        """Take the network link of a part down."""
        subprocess.run([*self.prefix, "ip", "link", "set", f"to-{part}", "down"], check=True)


@contextmanager
def testbed(place: Place, host: Host, folder: Path) -> Iterator[Testbed]:
    """The test bed during the block. `folder`: for keys and logs."""
    with ExitStack() as stack:
        if place == "here":
            prefix = stack.enter_context(namespace())
            yield Testbed(prefix, {part: PartHost(prefix, "127.0.0.1", "") for part in PARTS})
            return
        bridge = ("ip link add hub type bridge", "ip addr add 10.77.0.1/24 dev hub", "ip link set hub up")
        hub = stack.enter_context(namespace(bridge))
        _make_keys(folder)
        hosts_by_part = {
            part: _part_host(stack, hub, part, f"10.77.0.{index + 2}", host, folder) for index, part in enumerate(PARTS)
        }
        yield Testbed(hub, hosts_by_part)


def _part_host(stack: ExitStack, hub: tuple[str, ...], part: Part, address: str, host: Host, folder: Path) -> PartHost:
    prefix = stack.enter_context(namespace())
    holder = prefix[1].split("/")[2]
    for line in (
        f"ip link add to-{part} type veth peer name eth0 netns {holder}",
        f"ip link set to-{part} master hub",
        f"ip link set to-{part} up",
    ):
        subprocess.run([*hub, *line.split()], check=True)
    for line in (f"ip addr add {address}/24 dev eth0", "ip link set eth0 up"):
        subprocess.run([*prefix, *line.split()], check=True)
    stack.enter_context(_sshd(prefix, address, part, folder))
    options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o IdentitiesOnly=yes"
    ssh = f"ssh -F none -p {SSH_PORT} {options} -o IdentityFile={folder / 'user'} root@{address}"
    return PartHost(prefix, address, hosts.transport(ssh, host, folder))


def _make_keys(folder: Path) -> None:
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "sshd").write_text(_SSHD.format(folder=folder))
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)


@contextmanager
def _sshd(prefix: tuple[str, ...], address: str, part: Part, folder: Path) -> Iterator[None]:
    command = [*prefix, str(find("sshd")), "-D", "-e", "-f", str(folder / "sshd"), "-o", f"ListenAddress={address}:{SSH_PORT}"]
    with (folder / f"sshd-{part}.log").open("wb") as log, ended(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)):
        listens(prefix, address, SSH_PORT)
        yield


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """The process, which is ended at the end of the block."""
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def listens(prefix: tuple[str, ...], address: str, port: int) -> None:
    """Wait until a process listens there. Raises RuntimeError after TIMEOUT_S."""
    command = ["ss", "-Hltn", f"src {address}:{port} or src 0.0.0.0:{port}"]
    deadline_s = time.monotonic() + TIMEOUT_S
    while not subprocess.run([*prefix, *command], capture_output=True, check=True).stdout:
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"no process listens on {address}:{port}")
        time.sleep(0.1)

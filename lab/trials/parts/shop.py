"""The three parts as processes: nginx, the service behind it, PostgreSQL behind that, with the row's fault in one of them."""

from __future__ import annotations

import fcntl
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Literal

import msgspec

from lab.kit.namespaces import network
from lab.kit.programs import find
from lab.kit.runs import wait_until
from lab.kit.servers import SSH_OPTIONS, ended, make_keys, meanwhile, sshd_of

Part = Literal["web", "db", "proxy"]
PARTS: tuple[Part, ...] = ("web", "db", "proxy")

Place = Literal["namespaces", "here"]
"""Each part in a network namespace of its own and read over SSH, or all of them on the generator's host and read there."""
PLACES: tuple[Place, ...] = ("namespaces", "here")

Host = Literal["", "without python", "another user", "clock off", "slow link"]
"""The condition under which the hosts of all parts are read (`testbed`); empty: none."""

LADDER = "2:8s,6:8s,16:9s,32:9s"


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a fault is injected, and which marks are right."""

    name: str
    fault: str
    """The fault and its part, in one line."""
    part: Part | None = None
    """The part that has the fault; None: there is no fault."""
    expected: tuple[str, ...] = ()
    """Ids of which at least one must be marked of `part`; empty: no part may be blamed."""
    also_true: dict[str, str] = {}
    """Ids of the same part that are true of this fault as well, with the reason."""
    places: tuple[Place, ...] = PLACES
    host: Host = ""
    plan: str = LADDER

    keep_alive: bool = True
    act: str = "query"
    """What the service does for each request (`service.py`)."""
    amount: int = 0
    """Parameter of the act: turns of a loop, bytes, or milliseconds."""
    open_files: dict[Part, int] = {}
    """Limits of open files by part."""
    settings: dict[str, str] = {}
    """Settings of PostgreSQL."""
    backlog: int = 256
    """Connections that may wait for the service to accept them."""
    worker_connections: int = 1024
    """nginx's worker_connections."""
    compressed: bool = False
    """Whether nginx compresses replies, at its highest level."""
    one_core: Part | None = None
    """The part that is pinned to the first core."""
    paused_database: bool = False
    """PostgreSQL's first process, which accepts connections, is stopped most of the time."""
    slow_log_ms: int = 0
    """Milliseconds for which nginx's only worker waits for the access log at each request; 0: it does not wait."""
    small_disk: Part | None = None
    """The part whose folder is on a full file system of a few megabytes."""
    cut_s: float | None = None
    """Seconds from the start of the load until the link to `db` goes down; None: it does not."""


@dataclass(frozen=True, slots=True)
class PartHost:
    prefix: tuple[str, ...]
    """Prefix of a command to run it on this host."""
    address: str
    at: str
    """The transport of its reader, as `at` in `[[watch]]`."""


@dataclass(frozen=True, slots=True)
class Testbed:
    """The hosts of all parts. `prefix`: prefix of a command to run it on the generator's host."""

    prefix: tuple[str, ...]
    hosts: dict[Part, PartHost]

    def cut(self, part: Part) -> None:
        subprocess.run([*self.prefix, "ip", "link", "set", f"to-{part}", "down"], check=True)


def listens(prefix: Sequence[str], address: str, port: int) -> bool:
    """Wait until a process listens there. Raises AssertionError after TIMEOUT_S."""
    command = [*prefix, "ss", "-Hltn", f"src {address}:{port} or src 0.0.0.0:{port}"]

    def listener() -> bytes:
        return subprocess.run(command, capture_output=True, check=True).stdout

    return bool(wait_until(listener, f"a listener on {address}:{port}", TIMEOUT_S, 0.1))


TIMEOUT_S = 30.0


PORTS: dict[Part, int] = {"web": 9000, "db": 5432, "proxy": 8080}
STATUS_PORT = 8081
STOPPED_S, RUNNING_S = 0.2, 0.003
"""Lengths of the stops and pauses between them of a process that is stopped most of the time."""
LOG_LINE_BYTES = 128
"""Length of a line of nginx's access log in rows with a slow log."""
POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@contextmanager
def shop(row: Row, testbed: Testbed, folder: Path) -> Iterator[dict[Part, int]]:
    """Pids of the first processes of all parts, once they listen and would answer a request."""
    with ExitStack() as stack:
        folders = {part: _folder(stack, row, part, folder) for part in PORTS}
        pids: dict[Part, int] = {
            "db": _database(stack, row, testbed, folders["db"]),
            "web": _service(stack, row, testbed, folders["web"]),
            "proxy": _nginx(stack, row, testbed, folders["proxy"]),
        }
        if row.small_disk:
            _fill(folders[row.small_disk])
        if row.paused_database:
            stack.enter_context(_paused(pids["db"]))
        yield pids


def database_url(testbed: Testbed) -> str:
    return f"postgresql://shop@{testbed.hosts['db'].address}:{PORTS['db']}/postgres"


def _folder(stack: ExitStack, row: Row, part: Part, folder: Path) -> Path:
    own = folder / part
    own.mkdir()
    if row.small_disk == part:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "none", str(own)], check=True)
        stack.callback(subprocess.run, ["umount", "-l", str(own)], check=False)
    return own


def _fill(folder: Path) -> None:
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(1 << 16)):
            pass


def _prefix(row: Row, testbed: Testbed, part: Part) -> list[str]:
    """Command prefix of a part's processes: on its host and, if the row pins the part, on the first core."""
    core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if row.one_core == part else []
    return [*testbed.hosts[part].prefix, *core]


def _database(stack: ExitStack, row: Row, testbed: Testbed, folder: Path) -> int:
    assert POSTGRES is not None
    user, data = pwd.getpwnam("postgres"), folder / "data"
    os.chown(folder, user.pw_uid, user.pw_gid)
    become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    initialise = [str(POSTGRES / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync"]
    subprocess.run([*become, *initialise], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    with (data / "pg_hba.conf").open("a") as file:
        file.write("host all all 0.0.0.0/0 trust\n")
    settings = {
        "listen_addresses": testbed.hosts["db"].address,
        "unix_socket_directories": str(folder),
        "dynamic_shared_memory_type": "mmap",
        "fsync": "off",
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
        "shared_buffers": "16MB",
        **row.settings,
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    prefix = _prefix(row, testbed, "db")
    with (folder / "log").open("wb") as log:
        command = [*prefix, *become, str(POSTGRES / "postgres"), "-D", str(data), *options]
        process = stack.enter_context(
            ended(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=data))
        )
    listens(testbed.hosts["db"].prefix, testbed.hosts["db"].address, PORTS["db"])
    schema = (
        "CREATE ROLE shop LOGIN; CREATE TABLE stock AS SELECT 0 AS left_over; CREATE TABLE orders (what text); "
        "GRANT ALL ON stock, orders TO shop"
    )
    create_schema = [str(POSTGRES / "psql"), "-q", "-h", str(folder), "-U", "postgres", "-c", schema]
    ready = [str(POSTGRES / "pg_isready"), "-q", "-h", str(folder)]
    # it listens before it accepts sessions
    wait_until(lambda: subprocess.run(ready, check=False).returncode == 0, "a session of PostgreSQL", TIMEOUT_S, 0.1)
    subprocess.run(create_schema, check=True, timeout=30)
    return process.pid


def _service(stack: ExitStack, row: Row, testbed: Testbed, folder: Path) -> int:
    part_host, program = testbed.hosts["web"], Path(__file__).with_name("service.py")
    options = {
        "address": part_host.address,
        "port": PORTS["web"],
        "database": database_url(testbed),
        "act": row.act,
        "amount": row.amount,
    }
    options |= {"open-files": row.open_files.get("web", 0), "backlog": row.backlog}
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    with (folder / "log").open("wb") as log:
        command = [*_prefix(row, testbed, "web"), sys.executable, str(program), *arguments]
        process = stack.enter_context(
            ended(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder))
        )
    listens(part_host.prefix, part_host.address, PORTS["web"])
    return process.pid


def _nginx(stack: ExitStack, row: Row, testbed: Testbed, folder: Path) -> int:
    part_host, limit = testbed.hosts["proxy"], row.open_files.get("proxy")
    log = folder / "access"
    if row.slow_log_ms:
        stack.enter_context(_slow_log(log, row.slow_log_ms / 1000))
    text = (
        Path(__file__)
        .with_name("nginx.template")
        .read_text()
        .format(
            log=f"access_log {log} line;" if row.slow_log_ms else "",
            padding="." * (LOG_LINE_BYTES - len("2026-01-01T00:00:00+00:00 \n")),
            folder=folder,
            open_files=f"worker_rlimit_nofile {limit};" if limit else "",
            connections=row.worker_connections,
            compressed="gzip on; gzip_comp_level 9; gzip_types text/plain; gzip_proxied any; gzip_http_version 1.0;"
            * row.compressed,
            address=part_host.address,
            port=PORTS["proxy"],
            status_port=STATUS_PORT,
            web=testbed.hosts["web"].address,
            web_port=PORTS["web"],
        )
    )
    (folder / "nginx.conf").write_text(text)
    command = [*_prefix(row, testbed, "proxy"), str(find("nginx")), "-c", str(folder / "nginx.conf")]
    process = stack.enter_context(
        ended(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder))
    )
    listens(part_host.prefix, part_host.address, PORTS["proxy"])
    return process.pid


@contextmanager
def _slow_log(path: Path, line_s: float) -> Iterator[None]:
    """A named pipe with room for 32 lines, of which one is read every `line_s`; when it is full, each write takes that long."""
    os.mkfifo(path)
    os.chmod(path, 0o666)
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 12)

    def drain(is_over: threading.Event) -> None:
        while not is_over.wait(line_s):
            with suppress(BlockingIOError):
                os.read(pipe, LOG_LINE_BYTES)

    try:
        with meanwhile(drain):
            yield
    finally:
        os.close(pipe)


def _paused(pid: int) -> AbstractContextManager[None]:
    """The process is stopped for STOPPED_S, runs for RUNNING_S, and so on until the block ends."""

    def pause(is_over: threading.Event) -> None:
        with suppress(ProcessLookupError):
            while not is_over.wait(RUNNING_S):
                os.kill(pid, SIGSTOP)
                is_over.wait(STOPPED_S)
                os.kill(pid, SIGCONT)

    return meanwhile(pause)


# -- testbed -------------------------------------------------------------------------------------------------------------------
# The test bed of the parts: a network namespace with an SSH server for each, joined by a bridge in the generator's namespace; or
# one namespace for all. Hosts may be read without Python 3, as another user, with a clock that is off, over a slow link.
#
# Namespaces end with the processes that hold them. The parts share process ids, files and cores.


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

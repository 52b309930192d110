"""One part: requests files of its reader, and turns raw readings into readings of the part and facts about its machine.

Has no clock and starts no process; it keeps figures from one raw reading to the next.
"""

from __future__ import annotations

import base64
import errno
import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..model import outside
from ..model.events import HostFacts
from ..model.readings import NeighboursReading, PartReading, TargetReading
from ..model.watched import PartSpec
from ..procs.processes import Stat, stat_in
from . import cgroup, procfs, sockdiag
from .machine import FILES as HOST_FILES
from .machine import HostProbe, cpu_model
from .messages import RawReading
from .neighbours import NamesOfOthers, Snapshot, cores_of_others
from .processes import ProcessNow, TreeNow, TreeSums

# -- remote files --------------------------------------------------------------------------------------------------------------
# Files of another machine, as the probes read files: the text is that of the latest raw reading. And which files to request.


Wanted = dict[str, list[str]]
"""Paths to read, each with the prefixes of the lines to send; no prefixes: all lines."""

_LINES = {
    "/proc/stat": ["cpu"],
    "/proc/meminfo": ["MemTotal:", "MemAvailable:"],
    "/proc/vmstat": ["pswpin ", "oom_kill "],
}
"""Prefixes for long files."""

HOST: Wanted = {path: _LINES.get(path, []) for path in HOST_FILES.values()}
"""Read each second."""

BLOCK_DEVICES, INTERFACES = "/sys/block/", "/sys/class/net/"
CPU_MODEL, HOST_NAME, KERNEL, BOOT_ID = (
    "/proc/cpuinfo", "/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/random/boot_id",
)  # fmt: skip
SOMAXCONN, SYN_BACKLOG = "/proc/sys/net/core/somaxconn", "/proc/sys/net/ipv4/tcp_max_syn_backlog"

FACTS: Wanted = {
    **dict.fromkeys((BLOCK_DEVICES, INTERFACES, HOST_NAME, KERNEL, BOOT_ID, SOMAXCONN, SYN_BACKLOG), []),
    CPU_MODEL: ["model name"],
}
"""Read once."""


class RemoteFiles:
    """The files of the latest raw reading. `open` is an `OpenFile` for the probes."""

    def __init__(self) -> None:
        self.raw = RawReading(wall=0.0, boot=0.0)

    def get(self, path: str) -> str | None:
        """The text; None where it could not be read."""
        return self.raw.files.get(path)

    def open(self, path: str) -> RemoteFile:
        """A file whose text each raw reading contains."""
        return RemoteFile(path, self.get)


class RemoteFile:
    """One file of another machine."""

    def __init__(self, path: str, get: Callable[[str], str | None]) -> None:
        self._path, self._get = path, get
        self.error = errno.ENOENT if get(path) is None else None

    def read(self) -> str | None:
        """Its text in the latest raw reading."""
        return self._get(self._path)

    def close(self) -> None:
        """Nothing is open here."""


# -- processes -----------------------------------------------------------------------------------------------------------------


def tree_of(raw: RawReading) -> TreeNow:
    """The selected processes; without CPU time by their clocks (a shell reads) in clock ticks."""
    stats = {pid: found for pid in raw.pids if (found := stat_in(raw.files.get(f"/proc/{pid}/stat"))) is not None}
    threads = {}
    for path, text in raw.files.items():
        pid, name = _of_process(path)
        if pid in stats and name.endswith("/schedstat") and (times := procfs.schedstat(text)) is not None:
            threads[pid, int(name.split("/")[1])] = times
    return TreeNow(
        boot_s=raw.boot,
        processes={pid: _process_of(raw, pid, stat) for pid, stat in stats.items()},
        threads=threads,
        is_whole=raw.whole,
        ticks_per_s=raw.ticks,
        page_bytes=raw.page,
        group_cpu_ns=raw.numbers.get("group_cpu_ns"),
    )


def _process_of(raw: RawReading, pid: int, stat: Stat) -> ProcessNow:
    limit = raw.numbers.get(f"fds_limit:{pid}")
    if limit is None:
        limit = procfs.soft_limit_of_open_files(raw.files.get(f"/proc/{pid}/limits"))
    return ProcessNow(
        stat=stat,
        own_ns=raw.numbers.get(f"cpu_ns:{pid}", round(stat.own_ticks * 1e9 / raw.ticks)),
        fds=raw.numbers.get(f"fds:{pid}"),
        fds_limit=None if limit is None or limit < 0 else limit,
        io=procfs.colon_table(raw.files.get(f"/proc/{pid}/io")),
    )


def _of_process(path: str) -> tuple[int, str]:
    """(pid, rest) of a path below /proc/PID; pid 0 for any other path."""
    parts = path.split("/", 3)
    return (int(parts[2]), parts[3]) if len(parts) == 4 and parts[2].isdecimal() else (0, "")


def _accept_queue(raw: RawReading, port: int | None) -> dict[str, Any]:
    """Connections that wait on its port, or on the listeners of its first processes, and how many may wait."""
    all_rows = [row for piece in raw.listeners for row in _listeners(base64.b64decode(piece))]
    rows = [row for row in all_rows if (row.inode in raw.sockets if port is None else row.port == port)]
    if rows:
        return {"listen_queue": sum(row.queue for row in rows), "listen_backlog": sum(row.backlog for row in rows)}
    texts = [text for path, text in raw.files.items() if path.endswith(("/net/tcp", "/net/tcp6")) and text]
    there = [row for text in texts for line in text.splitlines() if (row := procfs.listening(line)) is not None]
    queues = [queue for at, queue in there if port in (None, at)]
    return {"listen_queue": sum(queues)} if queues else {}


def _listeners(piece: bytes) -> Sequence[sockdiag.Listener]:
    """The rows of one piece of a dump; none if it is the end of the dump, or an error."""
    return list(sockdiag.listeners(sockdiag.rows_of(memoryview(piece))))


def _fewer_cpus(allowed: int | None, cpus: int | None) -> int | None:
    """Cores that a process may run on; None if it may use all of them."""
    return allowed if allowed is not None and cpus is not None and allowed < cpus else None


_DIAG = base64.b64encode(sockdiag.message(sockdiag.TCPDIAG_GETSOCK, sockdiag.request([sockdiag.LISTEN]))).decode()


_FACT_MOST = 200
"""Characters of a fact, such as a machine's name."""


class PartFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change each second."""

    host: HostFacts
    boot_id: str | None = None
    pid: int | None = None
    program: str | None = None
    why: str | None = None
    """Why no process is read though one was selected."""
    denied: tuple[str, ...] = ()


class PartProbe:
    """`request` is the next line to send, `read` takes the answer. Each reader process needs a PartProbe of its own: growth
    between raw readings of two readers would mean nothing."""

    def __init__(self, watch: PartSpec, started_ticks: int | None = None) -> None:
        """`started_ticks`: as an earlier probe of the part found it."""
        self.started_ticks = started_ticks
        """When the process selected by its id began, in clock ticks since boot; None: not seen yet, or not selected by an id."""
        self._watch = watch
        self._files = RemoteFiles()
        self._host = HostProbe(self._files.open, self._is_block_device)
        self._sums, self._runs = TreeSums(), False
        self._cgroup: tuple[str, cgroup.Cgroup] | None = None
        """With the text of /proc/PID/cgroup that names it."""
        self._facts_text: dict[str, str | None] = {}
        self._facts_requested = False
        self._groups = ""
        self._before: RawReading | None = None
        self._names, self._wants_all = NamesOfOthers(), False

    def request(self, reader: str | None) -> bytes:
        """The line that requests the next raw reading of a `python` or `shell` reader."""
        wanted = {
            **HOST,
            **({} if self._facts_requested else FACTS),
            **self._wanted_of_links(),
            **dict.fromkeys(cgroup.files_of(self._groups), []),
        }
        selected = self._watch.selected
        if reader == "shell":
            kind, value = selected or ("machine", "-")
            return " ".join((kind, value, *(path for path in wanted if not path.endswith("/")))).encode()
        settings: dict[str, object] = {"files": wanted, "diag": _DIAG}
        if selected is not None:
            settings["select"] = selected
        if self._wants_all:
            settings["all"] = 1
        return msgspec.json.encode(settings)

    def _wanted_of_links(self) -> Wanted:
        """Speeds of network links, once their names are known."""
        names = (self._facts_text.get(INTERFACES) or "").split()
        known = any(path.endswith("/speed") for path in self._facts_text)
        return {} if known else {f"{INTERFACES}{name}/speed": [] for name in names}

    def read(self, raw: RawReading) -> PartReading | None:
        """The reading over the time since the previous raw reading; None for the first one."""
        self._files.raw = raw = self._without_reused_pid(raw)
        self._keep_facts(raw)
        before, self._before = self._before, raw
        elapsed_s = raw.boot - before.boot if before is not None else 0.0
        host, target = self._host.read(elapsed_s), self._target(raw, elapsed_s)
        if before is None or elapsed_s <= 0:
            return None
        used = None if raw.cpu is None or before.cpu is None else raw.cpu - before.cpu
        ours = [target.cpu_ratio] if target is not None and target.alive else []
        return PartReading(
            name=self._watch.name,
            target=target,
            host=host,
            neighbours=self._neighbours(raw, cores_of_others(host.cpu_ratio, ours)),
            reader_cpu_ratio=None if used is None else used / elapsed_s,
        )

    def _target(self, raw: RawReading, elapsed_s: float) -> TargetReading | None:
        """Its processes, once more after they have ended; None if there are none."""
        group = self._cgroup[1] if self._cgroup is not None else None
        found = self._sums.read(tree_of(raw), elapsed_s, group.oom_kills() if group is not None else None)
        ran, self._runs = self._runs, found.alive
        if not found.alive:
            return found if ran else None
        of_group = group.ratios(elapsed_s) | {"memory_limit_bytes": group.memory_limit_bytes()} if group is not None else {}
        return msgspec.structs.replace(
            found,
            **of_group,
            **_accept_queue(raw, self._watch.port),
            cpus_allowed=_fewer_cpus(raw.numbers.get("cpus_allowed"), raw.cpus),
            disk_free_bytes=raw.numbers.get("disk_free_bytes"),
        )

    def _without_reused_pid(self, raw: RawReading) -> RawReading:
        """Without processes, if the system has given the id of the selected process to another one since. In a container that
        starts again, the first process has the same id."""
        if self._watch.pid is None or self._watch.is_in_container or not raw.pids:
            return raw
        found = stat_in(raw.files.get(f"/proc/{self._watch.pid}/stat"))
        if found is None:
            return raw
        self.started_ticks = self.started_ticks or found.started_ticks
        if found.started_ticks == self.started_ticks:
            return raw
        why = f"process {self._watch.pid} has ended, and another one has its id now"
        return msgspec.structs.replace(raw, pids=(), why=why, sockets=(), listeners=())

    def _keep_facts(self, raw: RawReading) -> None:
        """Keep texts that are requested once, and start reading control groups when their files have arrived."""
        once = (*FACTS, *self._wanted_of_links())
        self._facts_text |= {path: raw.files[path] for path in once if path in raw.files}
        self._facts_requested = True
        groups = raw.files.get(f"/proc/{raw.pids[0]}/cgroup") if raw.pids else None
        is_new = self._cgroup is None or self._cgroup[0] != self._groups
        if self._groups and is_new and any(path in raw.files for path in cgroup.files_of(self._groups)):
            self._cgroup = self._groups, cgroup.cgroup_in(self._groups, self._files.open)
        if groups is not None:
            self._groups = groups

    def _neighbours(self, raw: RawReading, others: float | None) -> NeighboursReading:
        """CPU of other processes of that machine; their names while they use much."""
        if raw.all:
            found = {int(text.partition(" ")[0]): each for text in raw.all if (each := stat_in(text)) is not None}
            self._names.add(Snapshot.of(raw.boot, found), {raw.pid, *raw.pids})
        self._wants_all = self._names.are_due(others, raw.boot)
        return NeighboursReading(cpu_ratio=others, processes=dict(self._names.processes))

    def _is_block_device(self, name: str) -> bool:
        return name in (self._facts_text.get(BLOCK_DEVICES) or "").split()

    @property
    def facts(self) -> PartFacts:
        """As of the latest raw reading."""
        raw, known = self._files.raw, self._facts_text
        memory_kb = procfs.colon_table(raw.files.get("/proc/meminfo")).get("MemTotal")
        speeds = [procfs.integer(text) for path, text in known.items() if path.endswith("/speed")]
        program = raw.files.get(f"/proc/{raw.pids[0]}/exe") if raw.pids else None
        return PartFacts(
            host=HostFacts(
                name=_line(known.get(HOST_NAME)),
                system="Linux" if known.get(KERNEL) else None,
                kernel=_line(known.get(KERNEL)),
                cpu_model=cpu_model(known.get(CPU_MODEL)),
                cpus=raw.cpus,
                memory_bytes=None if memory_kb is None else memory_kb * 1024,
                somaxconn=procfs.integer(known.get(SOMAXCONN)),
                tcp_max_syn_backlog=procfs.integer(known.get(SYN_BACKLOG)),
                link_bytes_per_s=max((speed * 1e6 / 8 for speed in speeds if speed and speed > 0), default=None),
                cgroup_cpus=self._cgroup[1].cpus() if self._cgroup is not None else None,
            ),
            boot_id=_line(known.get(BOOT_ID)),
            pid=raw.pids[0] if raw.pids else None,
            program=os.path.basename(program.removesuffix(" (deleted)")) if program else _command(raw),
            why=raw.why if self._watch.selected is not None and not raw.pids else None,
            denied=_denied(raw),
        )


def _command(raw: RawReading) -> str | None:
    """The name of its first process, where this user may not read the path of its executable."""
    found = stat_in(raw.files.get(f"/proc/{raw.pids[0]}/stat")) if raw.pids else None
    return found.name if found is not None else None


def _denied(raw: RawReading) -> tuple[str, ...]:
    """Readings of its first process that the user on that machine may not take."""
    if not raw.pids or not raw.numbers:
        return ()
    pid = raw.pids[0]
    fds, io = f"fds:{pid}" not in raw.numbers, raw.files.get(f"/proc/{pid}/io") is None
    return (*(("fds",) if fds else ()), *(("disk bytes",) if io else ()))


def _line(text: str | None) -> str | None:
    return outside.text((text or "").strip(), _FACT_MOST) or None

"""One part: requests files of its reader, and turns raw readings into readings of the part and facts about its machine.

Has no clock and starts no process; it keeps figures from one raw reading to the next.
"""

from __future__ import annotations

import base64
import os

import msgspec

from ..model import outside
from ..model.events import HostFacts
from ..model.part_reading import PartReading
from ..model.readings import NeighboursReading
from ..model.watched import PartSpec
from ..probe import parse, sockdiag
from ..probe.facts import cgroup_cpus, cpu_model
from ..probe.host import HostProbe
from ..probe.other_processes import NAMED_FROM_CORES, NAMES_EVERY_S, Snapshot, busiest, cores_of_others
from . import remote_files
from .part_processes import PartProcesses
from .raw_reading import RawReading
from .remote_files import RemoteFiles

_DIAG = base64.b64encode(sockdiag.request([sockdiag.LISTEN])).decode()


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
        self._processes = PartProcesses(self._files, watch.port)
        self._facts_text: dict[str, str | None] = {}
        self._facts_requested = False
        self._groups = ""
        self._before: RawReading | None = None
        self._others: dict[str, float] = {}
        self._snapshot: Snapshot | None = None
        self._wants_all = False

    def request(self, reader: str | None) -> bytes:
        """The line that requests the next raw reading of a `python` or `shell` reader."""
        wanted = {
            **remote_files.HOST,
            **({} if self._facts_requested else remote_files.FACTS),
            **self._wanted_of_links(),
            **self._wanted_of_groups(),
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

    def _wanted_of_links(self) -> remote_files.Wanted:
        """Speeds of network links, once their names are known."""
        names = (self._facts_text.get(remote_files.INTERFACES) or "").split()
        known = any(path.endswith("/speed") for path in self._facts_text)
        return {} if known else {f"{remote_files.INTERFACES}{name}/speed": [] for name in names}

    def _wanted_of_groups(self) -> remote_files.Wanted:
        return remote_files.cgroup_files(self._groups) if self._groups else {}

    def read(self, raw: RawReading) -> PartReading | None:
        """The reading over the time since the previous raw reading; None for the first one."""
        self._files.raw = raw = self._without_reused_pid(raw)
        self._keep_facts(raw)
        before, self._before = self._before, raw
        elapsed_s = raw.boot - before.boot if before is not None else 0.0
        host, target = self._host.read(elapsed_s), self._processes.read(raw, elapsed_s)
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

    def _without_reused_pid(self, raw: RawReading) -> RawReading:
        """Without processes, if the system has given the id of the selected process to another one since. In a container that
        starts again, the first process has the same id."""
        if self._watch.pid is None or self._watch.is_in_container or not raw.pids:
            return raw
        stat = parse.stat(raw.files.get(f"/proc/{self._watch.pid}/stat"))
        if stat is None:
            return raw
        self.started_ticks = self.started_ticks or stat.started_ticks
        if stat.started_ticks == self.started_ticks:
            return raw
        why = f"process {self._watch.pid} has ended, and another one has its id now"
        return msgspec.structs.replace(raw, pids=(), why=why, sockets=(), listeners=())

    def _keep_facts(self, raw: RawReading) -> None:
        """Keep texts that are requested once, and start reading control groups when their files have arrived."""
        once = (*remote_files.FACTS, *self._wanted_of_links())
        self._facts_text |= {path: raw.files[path] for path in once if path in raw.files}
        self._facts_requested = True
        groups = raw.files.get(f"/proc/{raw.pids[0]}/cgroup") if raw.pids else None
        if self._groups and any(path in raw.files for path in remote_files.cgroup_files(self._groups)):
            self._processes.read_cgroup(self._groups)
        if groups is not None:
            self._groups = groups

    def _neighbours(self, raw: RawReading, others: float | None) -> NeighboursReading:
        """CPU of other processes of that machine; their names while they use much."""
        if raw.all:
            found = ((int(text.partition(" ")[0]), parse.process_cpu(text)) for text in raw.all if text)
            now = Snapshot(raw.boot, {(pid, each.started_ticks): each for pid, each in found if each is not None})
            if self._snapshot is not None:
                self._others = busiest(self._snapshot, now, {raw.pid, *raw.pids})
            self._snapshot = now
        if others is None or others < NAMED_FROM_CORES:
            self._others, self._snapshot = {}, None
        is_due = self._snapshot is None or raw.boot - self._snapshot.at_s >= NAMES_EVERY_S
        self._wants_all = others is not None and others >= NAMED_FROM_CORES and is_due
        return NeighboursReading(cpu_ratio=others, processes=dict(self._others))

    def _is_block_device(self, name: str) -> bool:
        return name in (self._facts_text.get(remote_files.BLOCK_DEVICES) or "").split()

    @property
    def facts(self) -> PartFacts:
        """As of the latest raw reading."""
        raw, known = self._files.raw, self._facts_text
        memory_kb = parse.colon_table(raw.files.get("/proc/meminfo")).get("MemTotal")
        speeds = [parse.integer(text) for path, text in known.items() if path.endswith("/speed")]
        program = raw.files.get(f"/proc/{raw.pids[0]}/exe") if raw.pids else None
        return PartFacts(
            host=HostFacts(
                name=_line(known.get(remote_files.HOST_NAME)),
                system="Linux" if known.get(remote_files.KERNEL) else None,
                kernel=_line(known.get(remote_files.KERNEL)),
                cpu_model=cpu_model(known.get(remote_files.CPU_MODEL)),
                cpus=raw.cpus,
                memory_bytes=None if memory_kb is None else memory_kb * 1024,
                somaxconn=parse.integer(known.get(remote_files.SOMAXCONN)),
                tcp_max_syn_backlog=parse.integer(known.get(remote_files.SYN_BACKLOG)),
                link_bytes_per_s=max((speed * 1e6 / 8 for speed in speeds if speed and speed > 0), default=None),
                cgroup_cpus=cgroup_cpus(self._groups, self._files.get),
            ),
            boot_id=_line(known.get(remote_files.BOOT_ID)),
            pid=raw.pids[0] if raw.pids else None,
            program=os.path.basename(program.removesuffix(" (deleted)")) if program else _command(raw),
            why=raw.why if self._watch.selected is not None and not raw.pids else None,
            denied=_denied(raw),
        )


def _command(raw: RawReading) -> str | None:
    """The name of its first process, where this user may not read the path of its executable."""
    stat = raw.files.get(f"/proc/{raw.pids[0]}/stat") if raw.pids else None
    return stat[stat.find("(") + 1 : stat.rfind(")")] if stat else None


def _denied(raw: RawReading) -> tuple[str, ...]:
    """Readings of its first process that the user on that machine may not take."""
    if not raw.pids or not raw.numbers:
        return ()
    pid = raw.pids[0]
    fds, io = f"fds:{pid}" not in raw.numbers, raw.files.get(f"/proc/{pid}/io") is None
    return (*(("fds",) if fds else ()), *(("disk bytes",) if io else ()))


def _line(text: str | None) -> str | None:
    return outside.text((text or "").strip(), _FACT_MOST) or None

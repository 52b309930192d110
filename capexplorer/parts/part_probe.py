"""One part: decides which files its reader sends, and turns its frames into readings of the part and facts of its machine.

Pure but for the figures that it keeps between two frames: no clock, no process.
"""

from __future__ import annotations

import base64
import os

import msgspec

from ..model.events import HostFacts
from ..model.part_reading import PartReading
from ..model.readings import NeighboursReading
from ..model.watched import PartSpec
from ..probe import parse, sockdiag
from ..probe.facts import cgroup_cpus, cpu_model
from ..probe.host import HostProbe
from ..probe.other_processes import NAMED_FROM_CORES, NAMES_EVERY_S, Snapshot, busiest, cores_of_others
from . import texts
from .frame import Frame
from .processes import Processes
from .texts import Texts

_DIAG = base64.b64encode(sockdiag.request([sockdiag.LISTEN])).decode()


class PartFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change from second to second."""

    host: HostFacts
    boot_id: str | None = None
    pid: int | None = None
    program: str | None = None
    why: str | None = None
    """Why no process is read though one was selected."""
    denied: tuple[str, ...] = ()


class PartProbe:
    """`question` is what to ask next, `read` takes the answer. One for each reader: nothing that two have read is compared."""

    def __init__(self, watch: PartSpec) -> None:
        self._watch = watch
        self._texts = Texts()
        self._host = HostProbe(self._texts.open, self._is_block_device)
        self._processes = Processes(self._texts, watch.port)
        self._facts_text: dict[str, str | None] = {}
        self._asked = False
        self._groups = ""
        self._before: Frame | None = None
        self._others: dict[str, float] = {}
        self._snapshot: Snapshot | None = None
        self._wants_all = False

    def question(self, reader: str | None) -> bytes:
        """The line that asks for the next frame."""
        wanted = {**texts.HOST, **({} if self._asked else texts.FACTS), **self._wanted_of_links(), **self._wanted_of_groups()}
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

    def _wanted_of_links(self) -> texts.Wanted:
        """Speeds of network links, once their names are known."""
        names = (self._facts_text.get(texts.INTERFACES) or "").split()
        known = any(path.endswith("/speed") for path in self._facts_text)
        return {} if known else {f"{texts.INTERFACES}{name}/speed": [] for name in names}

    def _wanted_of_groups(self) -> texts.Wanted:
        return texts.of_groups(self._groups) if self._groups else {}

    def read(self, frame: Frame) -> PartReading | None:
        """Over the time since the frame before; None for the first one, which is compared with nothing."""
        self._texts.frame = frame
        self._learn(frame)
        before, self._before = self._before, frame
        elapsed_s = frame.boot - before.boot if before is not None else 0.0
        host, target = self._host.read(elapsed_s), self._processes.read(frame, elapsed_s)
        if before is None or elapsed_s <= 0:
            return None
        used = None if frame.cpu is None or before.cpu is None else frame.cpu - before.cpu
        ours = [target.cpu_ratio] if target is not None and target.alive else []
        return PartReading(
            name=self._watch.name,
            target=target,
            host=host,
            neighbours=self._neighbours(frame, cores_of_others(host.cpu_ratio, ours)),
            reader_cpu_ratio=None if used is None else used / elapsed_s,
        )

    def _learn(self, frame: Frame) -> None:
        """Keep texts that were asked for once, and switch on the control groups once their files are here."""
        once = (*texts.FACTS, *self._wanted_of_links())
        self._facts_text |= {path: frame.files[path] for path in once if path in frame.files}
        self._asked = True
        groups = frame.files.get(f"/proc/{frame.pids[0]}/cgroup") if frame.pids else None
        if self._groups and any(path in frame.files for path in texts.of_groups(self._groups)):
            self._processes.grouped(self._groups)
        if groups is not None:
            self._groups = groups

    def _neighbours(self, frame: Frame, others: float | None) -> NeighboursReading:
        """CPU of other processes of that machine; their names while they use much."""
        if frame.all:
            found = ((int(text.partition(" ")[0]), parse.process_cpu(text)) for text in frame.all if text)
            now = Snapshot(frame.boot, {(pid, each.started_ticks): each for pid, each in found if each is not None})
            if self._snapshot is not None:
                self._others = busiest(self._snapshot, now, {frame.pid, *frame.pids[:1]})
            self._snapshot = now
        if others is None or others < NAMED_FROM_CORES:
            self._others, self._snapshot = {}, None
        is_due = self._snapshot is None or frame.boot - self._snapshot.at_s >= NAMES_EVERY_S
        self._wants_all = others is not None and others >= NAMED_FROM_CORES and is_due
        return NeighboursReading(cpu_ratio=others, processes=dict(self._others))

    def _is_block_device(self, name: str) -> bool:
        return name in (self._facts_text.get(texts.BLOCK_DEVICES) or "").split()

    @property
    def facts(self) -> PartFacts:
        """As of the latest frame."""
        frame, known = self._texts.frame, self._facts_text
        memory_kb = parse.colon_table(frame.files.get("/proc/meminfo")).get("MemTotal")
        speeds = [parse.integer(text) for path, text in known.items() if path.endswith("/speed")]
        program = frame.files.get(f"/proc/{frame.pids[0]}/exe") if frame.pids else None
        return PartFacts(
            host=HostFacts(
                name=_line(known.get(texts.HOST_NAME)),
                system="Linux" if known.get(texts.KERNEL) else None,
                kernel=_line(known.get(texts.KERNEL)),
                cpu_model=cpu_model(known.get(texts.CPU_MODEL)),
                cpus=frame.cpus,
                memory_bytes=None if memory_kb is None else memory_kb * 1024,
                somaxconn=parse.integer(known.get(texts.SOMAXCONN)),
                tcp_max_syn_backlog=parse.integer(known.get(texts.SYN_BACKLOG)),
                link_bytes_per_s=max((speed * 1e6 / 8 for speed in speeds if speed and speed > 0), default=None),
                cgroup_cpus=cgroup_cpus(self._groups, self._texts.get),
            ),
            boot_id=_line(known.get(texts.BOOT_ID)),
            pid=frame.pids[0] if frame.pids else None,
            program=os.path.basename(program.removesuffix(" (deleted)")) if program else _command(frame),
            why=frame.why if self._watch.selected is not None and not frame.pids else None,
            denied=_denied(frame),
        )


def _command(frame: Frame) -> str | None:
    """The name of its first process, for a user who may not see its executable."""
    stat = frame.files.get(f"/proc/{frame.pids[0]}/stat") if frame.pids else None
    return stat[stat.find("(") + 1 : stat.rfind(")")] if stat else None


def _denied(frame: Frame) -> tuple[str, ...]:
    """Readings of its first process that the user there may not take."""
    if not frame.pids or not frame.numbers:
        return ()
    pid = frame.pids[0]
    fds, io = f"fds:{pid}" not in frame.numbers, frame.files.get(f"/proc/{pid}/io") is None
    return (*(("fds",) if fds else ()), *(("disk bytes",) if io else ()))


def _line(text: str | None) -> str | None:
    return (text or "").strip() or None

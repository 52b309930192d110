"""Carries out one row: its test bed, the three parts, one run of capexplorer, and the saved session."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from capexplorer.model.events import Event, Mark, PartState, Sample
from capexplorer.model.readings import LATE_S
from capexplorer.session.reader import read
from lab.trials.faults.judge import Verdict
from lab.trials.faults.records import DISTURBED_CORES
from lab.trials.faults.testbed import NAMESPACE_PROGRAMS, is_root
from lab.trials.programs import missing

from .hosts import CLOCK_OFF_S
from .judge import judge
from .row import Part, Place, Row
from .shop import PORTS, POSTGRES, STATUS_PORT, database_url, shop
from .testbed import Testbed, testbed

BY_PID = ("without python", "another user")
"""Conditions under which the reader cannot find out which process listens on a port: the parts are given by process id."""

PROGRAM = str(Path(sys.executable).with_name("capexplorer"))
LIMIT_S = 150.0
CLOCK_WITHIN_S = 1.0
"""Precision of the shell's clock, which has whole seconds."""
PROGRAMS = (*NAMESPACE_PROGRAMS, "nginx", "setpriv", "ssh", "ssh-keygen", "sshd", "su", "taskset")


@dataclass(frozen=True, slots=True)
class Ran:
    """A row that was carried out."""

    row: Row
    place: Place
    events: tuple[Event, ...]
    stderr: str

    @property
    def marks(self) -> list[Mark]:
        return [event for event in self.events if isinstance(event, Mark)]

    @property
    def samples(self) -> list[Sample]:
        return [event for event in self.events if isinstance(event, Sample)]

    @property
    def neighbours(self) -> float:
        """Cores that processes other than parts and generator used: the median over the run's seconds."""
        return round(median([_others(sample) for sample in self.samples] or [0.0]), 2)

    @property
    def sentence(self) -> str:
        """The verdict in words. A mark that is missing beside busy processes may be missing because of them, so such a run is
        spoilt; a wrong mark is wrong in any case."""
        found = self.verdict
        spoilt = found.missing and not found.wrong and self.neighbours > DISTURBED_CORES
        return f"spoilt by neighbours: {found.sentence}" if spoilt else found.sentence

    @property
    def reader_cpu_ratio(self) -> dict[str, float]:
        """Cores that each part's reader used, over the run."""
        shares: dict[str, list[float]] = {}
        for part in (part for sample in self.samples for part in sample.parts if part.reader_cpu_ratio is not None):
            shares.setdefault(part.name, []).append(part.reader_cpu_ratio or 0.0)
        return {name: round(fmean(each), 4) for name, each in shares.items()}

    @property
    def verdict(self) -> Verdict:
        found = judge(self.row, self.place, self.marks, self.neighbours)
        old = tuple(self._old_figures()) if self.row.cut_s is not None else ()
        return Verdict(found.missing, (*found.wrong, *old, *self._read_otherwise()))

    def _read_otherwise(self) -> Iterator[str]:
        """Parts that were not read under the row's condition."""
        latest = {each.name: each for each in self.events if isinstance(each, PartState)}
        for part in latest.values():
            reader, off_s = "shell" if self.row.host == "without python" else "python", part.clock_offset_s or 0.0
            expected_s = CLOCK_OFF_S if self.row.host == "clock off" else 0.0
            if part.state == "read" and part.reader != reader:
                yield f"{part.name} read by {part.reader}"
            if part.state == "read" and abs(off_s - expected_s) > (part.clock_error_s or 0.0) + CLOCK_WITHIN_S:
                yield f"clock of {part.name} reported as {off_s:.1f} s off"

    def _old_figures(self) -> Iterator[str]:
        """Problems of a row whose link is cut: figures in seconds without a reading, or no second without a reading."""
        silent = [part for sample in self.samples for part in sample.parts if part.age_s is None or part.age_s >= LATE_S]
        if not silent:
            yield "no second in which the link was silent"
        if any(part.target or part.host or part.server for part in silent):
            yield "figures in a second without a reading"


def _others(sample: Sample) -> float:
    """Cores that this machine used, without those of the generator and the parts."""
    busy = sample.host.cpu_ratio if sample.host is not None else None
    own = [part.target.cpu_ratio or 0.0 for part in sample.parts if part.target is not None]
    generator = sample.generator.process_cpu_ratio if sample.generator is not None else None
    return max(0.0, (busy or 0.0) - (generator or 0.0) - sum(own))


def why_not() -> str:
    """Why no row can be carried out here; empty if all can be."""
    if reason := missing(*PROGRAMS):
        return reason
    if POSTGRES is None:
        return "not installed: PostgreSQL (Debian: apt-get install postgresql)"
    return "" if is_root() else "needs root for network namespaces"


def carry_out(row: Row, place: Place, folder: Path) -> Ran:
    """One run, its files in `folder`. PostgreSQL's user must have access to `folder`."""
    folder.mkdir(parents=True, mode=0o755)
    with testbed(place, row.host, folder) as where, shop(row, where, folder) as pids:
        profile = folder / f"{row.name}.toml"
        profile.write_text(_profile(row, where, pids))
        cut = threading.Timer((row.cut_s or 0.0), lambda: where.cut("db"))
        sessions = folder / "sessions"
        hosts = [word for part_host in where.hosts_by_part.values() for word in ("--allow-host", part_host.address)]
        command = [*where.prefix, PROGRAM, "run", str(profile), "--plan", row.plan, "--headless", "--sessions-dir", str(sessions)]
        with (folder / "stderr").open("wb") as stderr:
            process = subprocess.Popen(
                [*command, *hosts], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, env=dict(os.environ)
            )
            try:
                if row.cut_s is not None:
                    cut.start()
                process.wait(LIMIT_S)
            finally:
                cut.cancel()
                process.terminate()
                process.wait()
    errors = (folder / "stderr").read_text(errors="replace")
    (log,) = sessions.glob("*.jsonl") if sessions.exists() else (None,)
    if log is None:
        raise RuntimeError(f"no session: {errors}")
    return Ran(row, place, tuple(read(log)), errors)


def _profile(row: Row, where: Testbed, pids: Mapping[Part, int]) -> str:
    proxy = where.hosts_by_part["proxy"].address
    own = {"db": f'postgres = "{database_url(where)}"', "proxy": f'nginx = "http://{proxy}:{STATUS_PORT}/"'}
    parts = [
        f'[[watch]]\nname = "{part}"\nat = "{where.hosts_by_part[part].at}"\n'
        f"{f'pid = {pids[part]}' if row.host in BY_PID else f'port = {port}'}\n{own.get(part, '')}\n"
        for part, port in PORTS.items()
    ]
    users = f'[users]\nclient = "fast"\nwait_s = {{ constant = 0.05 }}\nkeep_alive = {str(row.keep_alive).lower()}\n'
    task = '[[users.task]]\nname = "/work"\n'
    return f'title = "{row.fault}"\nurl = "http://{proxy}:{PORTS["proxy"]}"\n\n{users}\n{task}\n' + "\n".join(parts)

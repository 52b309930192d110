"""All other programs: perf samples them on a CPU and prints what it saw, over pipes. perf detaches when it ends or is killed.

Off-CPU stacks of native code need tracing in the kernel, which few machines allow: there are none. A stack is as deep as the
program has frame pointers (`-fno-omit-frame-pointer`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import IO

import psutil

from ..model.stacks import Frame, Runtime, SampledStacks
from ..procs.processes import die_with_parent
from .folding import NotSampled, Sampler
from .runtimes import cpu_s

RATE_PER_S = 99
"""Not 100: no timer of a service keeps step with it."""

_OWN_CODE_MOST, _KERNEL_MOST = 2, 1
"""kernel.perf_event_paranoid at which everyone may sample own programs, and these within the kernel."""

_CALL = re.compile(r"\s+(?P<address>[0-9a-f]+) (?P<function>.+) \((?P<file>[^()]+)\)")
_PROCESSES_MOST = 64
"""perf opens an event for each thread and core; more processes of one program say no more."""

_LINES_WITHIN_S = 10.0
_END_S = 5.0


def why_not() -> str | None:
    """Why nothing can be sampled here."""
    if shutil.which("perf") is None:
        return "perf is not installed (Debian: apt-get install linux-perf)"
    paranoid = _paranoid()
    if paranoid is None:
        return "the kernel has no perf_event"
    if paranoid > _OWN_CODE_MOST and os.geteuid() != 0:
        return f"kernel.perf_event_paranoid is {paranoid}: run as root, or sysctl kernel.perf_event_paranoid={_OWN_CODE_MOST}"
    return None


def _paranoid() -> int | None:
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except (OSError, ValueError):
        return None


class NativeStacks:
    """Begins at once. `sampled` waits for the end."""

    def __init__(self, pids: Iterable[int], seconds: float, runtime: Runtime = "native") -> None:
        """Raises NotSampled: perf is not there."""
        if (reason := why_not()) is not None:
            raise NotSampled(reason)
        self._pids, self._seconds, self._runtime = tuple(pids)[:_PROCESSES_MOST], seconds, runtime
        self._programs = frozenset(filter(None, map(_program, self._pids)))
        self._cpu_s = {pid: cpu_s(pid) for pid in self._pids}
        with_kernel = os.geteuid() == 0 or (_paranoid() or 0) <= _KERNEL_MOST
        record = ["perf", "record", "-e", "cpu-clock" if with_kernel else "cpu-clock:u", "-F", str(RATE_PER_S), "-g", "-o", "-"]
        whom = ["-p", ",".join(map(str, self._pids)), "--", "sleep", f"{seconds:g}"]
        self._record = _started([*record, *whom], subprocess.DEVNULL)
        self._script = _started(["perf", "script", "-i", "-", "-F", "ip,sym,dso,period"], self._record.stdout)
        assert self._record.stdout is not None
        self._record.stdout.close()

    def sampled(self) -> list[SampledStacks]:
        """The processes' CPU time, divided among the stacks as often as each was seen. Raises NotSampled."""
        said: list[str] = []
        assert self._record.stderr is not None
        listener = Thread(target=said.extend, args=(self._record.stderr,))
        listener.start()
        with self._record, self._script:
            text, complaint = self._script.communicate()
            listener.join()
        used_s = sum(max(0.0, cpu_s(pid) - before_s) for pid, before_s in self._cpu_s.items())
        seen = list(self._seen(text))
        if self._record.returncode != 0 and not seen:
            lines = [line for line in (*said, *complaint.splitlines()) if line.strip() and "[ perf" not in line]
            raise NotSampled(f"perf: {lines[0].strip() if lines else 'failed without a word'}")
        sampler = Sampler(self._runtime, "cpu", _version(), self._pids, self._seconds)
        return [sampler.sampled((frames, used_s / len(seen)) for frames in seen)]

    def _seen(self, text: str) -> Iterator[tuple[Frame, ...]]:
        """The stack of each sample."""
        chains = [[found for line in sample.splitlines() if (found := _CALL.fullmatch(line))] for sample in text.split("\n\n")]
        own = {(found["file"], found["address"]) for chain in chains for found in chain if found["file"] in self._programs}
        lines = _lines(own)
        for chain in filter(None, chains):
            yield tuple(frame for found in reversed(chain) for frame in self._frames(found, lines))

    def _frames(self, found: re.Match[str], lines: Mapping[tuple[str, str], tuple[Frame, ...]]) -> tuple[Frame, ...]:
        file = found["file"]
        known = lines.get((file, found["address"]))
        return known or (Frame(found["function"], "" if file == "[unknown]" else file, 0, file in self._programs),)


def _started(command: list[str], source: IO[str] | int | None) -> subprocess.Popen[str]:
    pipe, bound = subprocess.PIPE, die_with_parent()
    return subprocess.Popen(command, stdin=source, stdout=pipe, stderr=pipe, text=True, errors="replace", preexec_fn=bound)


def _program(pid: int) -> str | None:
    try:
        return str(psutil.Process(pid).exe())
    except (psutil.Error, OSError):
        return None


def _lines(addresses: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[Frame, ...]]:
    """The function and line of each (program, address) by addr2line, with the calls that were inlined there, the outermost
    first; empty without addr2line or debug information.
    """
    found: dict[tuple[str, str], tuple[Frame, ...]] = {}
    if shutil.which("addr2line") is None:
        return found
    for program, group in groupby(sorted(addresses), key=lambda each: each[0]):
        asked = "".join(f"0x{address}\n" for _, address in group)
        command = ["addr2line", "--addresses", "--functions", "--inlines", "--demangle", "--exe", program]
        try:
            said = subprocess.run(command, input=asked, capture_output=True, text=True, errors="replace", timeout=_LINES_WITHIN_S)
        except (OSError, subprocess.TimeoutExpired):
            continue
        for block in re.split(r"^0x0*(?=[0-9a-f]+$)", said.stdout, flags=re.MULTILINE)[1:]:
            address, *rest = block.splitlines()
            calls = [_frame(name, place) for name, place in zip(rest[::2], rest[1::2], strict=False) if not place.startswith("?")]
            if calls:
                found[program, address] = tuple(reversed(calls))
    return found


def _frame(function: str, place: str) -> Frame:
    file, _, line = place.partition(" (")[0].rpartition(":")
    return Frame(function, file, int(line) if line.isdigit() else 0, True)


def _version() -> str:
    said = subprocess.run(["perf", "--version"], capture_output=True, text=True, timeout=_END_S).stdout.split()
    return f"perf {said[-1]}" if said else "perf"

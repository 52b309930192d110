"""Python: py-spy reads the interpreter's memory without stopping it (`--nonblocking`: no ptrace), also of child processes.

One counts all threads (wall), one the thread that holds the interpreter's lock, one those that the kernel calls runnable. The
last ones are on a CPU, or wait for a core or for the lock: 60 threads that want one lock were 2.7 cores of a machine with two. So
cpu is the holders, and of the other runnable ones as much as the process used CPU beyond them, as C code without the lock does.

They count in rounds, and the threads that lived all the time say how many rounds there were.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Thread
from time import monotonic

from ..extras import lacking
from ..model.stacks import Clock, Frame, SampledStacks
from ..procs.processes import die_with_parent
from .folding import NotSampled, Sampler
from .runtimes import cpu_s, topmost

RATE_PER_S = 50
_CLOCKS: tuple[Clock, ...] = ("wall", "cpu")
_WHOM = {"all": ("--idle",), "holding": ("--gil",), "runnable": ()}

_FRAME = re.compile(r"(?P<function>.+) \((?P<file>.+?)(?::(?P<line>\d+))?\)")
_THREAD = re.compile(r"thread \((?P<id>[^)]+)\)")
_LOST = re.compile(r"Errors: (\d+)")
_LIBRARY = re.compile(r"/lib(64)?/(python|pypy)[\d.]*t?/|/(site|dist)-packages/|^<frozen |^<__")
_SAMPLE = "/capexplorer/shipped/"
"""The folder of the samples in a wheel, among libraries."""


def program() -> str | None:
    """Path of py-spy, beside this Python or on the PATH."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def why_not() -> str | None:
    """Why nothing can be sampled here."""
    if program() is None:
        return lacking("py-spy")
    return None if os.geteuid() == 0 else _restricted()


def _restricted() -> str | None:
    try:
        scope = int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except (OSError, ValueError):
        return None
    return "kernel.yama.ptrace_scope is not 0: run as root, or sysctl kernel.yama.ptrace_scope=0" if scope else None


class PythonStacks:
    """Begins at once. `sampled` waits for the end."""

    def __init__(self, pids: Iterable[int], seconds: float) -> None:
        """Raises NotSampled: py-spy is not there."""
        if (reason := why_not()) is not None:
            raise NotSampled(reason)
        self._pids, self._seconds = tuple(pids), float(max(1, round(seconds)))
        self._spies = {whom: [_Spy(pid, self._seconds, words) for pid in topmost(self._pids)] for whom, words in _WHOM.items()}
        self._began_s, self._cpu_s = monotonic(), {pid: cpu_s(pid) for pid in self._pids}

    def sampled(self) -> list[SampledStacks]:
        """One for each clock. Raises NotSampled with py-spy's last words if it saw no process."""
        read = {whom: [stack for spy in spies for stack in _stacks(spy.lines())] for whom, spies in self._spies.items()}
        used_s = sum(max(0.0, cpu_s(pid) - before_s) for pid, before_s in self._cpu_s.items())
        used_s *= self._seconds / (monotonic() - self._began_s)
        if not read["all"]:
            said = [spy.said for spies in self._spies.values() for spy in spies if spy.said]
            raise NotSampled(f"py-spy saw no thread{': ' if said else ''}{said[-1] if said else ''}")
        round_s = self._seconds / _rounds(read["all"])
        folded = {whom: _folded(found, round_s) for whom, found in read.items()}
        lost = {whom: sum(spy.lost for spy in spies) for whom, spies in self._spies.items()}
        wall, cpu = (Sampler("python", clock, f"py-spy {_version()}", self._pids, self._seconds) for clock in _CLOCKS)
        return [
            wall.sampled(folded["all"].items(), lost["all"]),
            cpu.sampled(_on_cpu(folded["holding"], folded["runnable"], used_s).items(), lost["holding"]),
        ]


_Seconds = dict[tuple[Frame, ...], float]
"""Thread seconds of each stack."""


def _folded(found: Iterable[_Seen], round_s: float) -> _Seconds:
    folded: _Seconds = {}
    for _, frames, rounds in found:
        folded[frames] = folded.get(frames, 0.0) + rounds * round_s
    return folded


def _on_cpu(holding: _Seconds, runnable: _Seconds, used_s: float) -> _Seconds:
    """The holders of the interpreter's lock, and of the other runnable threads as much as there was CPU time beyond."""
    others = {frames: max(0.0, seconds - holding.get(frames, 0.0)) for frames, seconds in runnable.items()}
    beyond_s = max(0.0, used_s - sum(holding.values()))
    share = min(1.0, beyond_s / sum(others.values())) if any(others.values()) else 0.0
    return {frames: holding.get(frames, 0.0) + share * others.get(frames, 0.0) for frames in {**holding, **others}}


def _rounds(seen: Iterable[_Seen]) -> int:
    """How often the thread that was seen most was seen."""
    by_thread: dict[str, int] = {}
    for thread, _, count in seen:
        by_thread[thread] = by_thread.get(thread, 0) + count
    return max(by_thread.values())


class _Spy:
    """One py-spy, for one process and those below it."""

    def __init__(self, pid: int, seconds: float, words: Iterable[str]) -> None:
        reader, writer = os.pipe()
        which = program()
        assert which is not None
        command = [
            which, "record", "--pid", str(pid), "--subprocesses", "--nonblocking", "--threads", "--full-filenames", *words,
            "--rate", str(RATE_PER_S), "--duration", f"{seconds:.0f}", "--format", "raw", "--output", f"/dev/fd/{writer}",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
            pass_fds=(writer,), preexec_fn=die_with_parent(),
        )  # fmt: skip
        os.close(writer)
        self._stacks = os.fdopen(reader, encoding="utf-8", errors="replace")
        self.said = ""
        """Its last line, if it failed."""
        self.lost = 0

    def lines(self) -> list[str]:
        """What it wrote, at its end."""
        errors: list[str] = []
        assert self._process.stderr is not None
        listener = Thread(target=errors.extend, args=(self._process.stderr,))
        listener.start()
        with self._process, self._stacks:
            lines = self._stacks.readlines()
            listener.join()
        if self._process.returncode != 0:
            self.said = errors[-1].strip().removeprefix("Error: ") if errors else ""
        self.lost = sum(int(count) for line in errors for count in _LOST.findall(line))
        return lines


_Seen = tuple[str, tuple[Frame, ...], int]
"""A thread, its frames, and in how many rounds it had them."""


def _stacks(lines: Iterable[str]) -> Iterator[_Seen]:
    """Each line of collapsed stacks. The process and the thread come first, then the frames."""
    for line in lines:
        calls, _, count = line.rstrip("\n").rpartition(" ")
        if not count.isdigit():
            continue
        parts = calls.split(";")
        threads = [found["id"] for part in parts if (found := _THREAD.match(part))]
        yield (threads[0] if threads else ""), tuple(_frame(found) for part in parts if (found := _is_frame(part))), int(count)


def _is_frame(part: str) -> re.Match[str] | None:
    return None if part.startswith(("process ", "thread (")) else _FRAME.fullmatch(part)


def _frame(found: re.Match[str]) -> Frame:
    file = found["file"]
    return Frame(found["function"], file, int(found["line"] or 0), _SAMPLE in file or not _LIBRARY.search(file))


def _version() -> str:
    which = program()
    said = subprocess.run([which or "py-spy", "--version"], capture_output=True, text=True, timeout=10).stdout.split()
    return said[-1] if said else ""

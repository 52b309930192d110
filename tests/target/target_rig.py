"""A supervisor under test, and targets that are a few lines of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from capexplorer.load.native import sleep, start_thread
from capexplorer.procs.processes import is_alive
from capexplorer.target.place import free_port
from capexplorer.target.ready import wait_until_ready
from capexplorer.target.spec import TargetSpec, load_spec
from capexplorer.target.supervisor import Exited, Report, Started, Supervisor

ROOT = Path(__file__).resolve().parents[2]
MIXED = ROOT / "targets" / "mixed"
TIMEOUT_S = 120.0


def becomes_true(condition: Callable[[], object]) -> bool:
    """Wait for a condition; False if it does not hold within TIMEOUT_S."""
    deadline = monotonic() + TIMEOUT_S
    while not condition():
        if monotonic() > deadline:
            return False
        sleep(0.01)
    return True


def children(pid: int) -> list[int]:
    """Processes whose parent is `pid`."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in path.read_text(encoding="ascii").split()]
    return found


def below(pid: int) -> list[int]:
    """All processes under `pid`."""
    return [found for child in children(pid) for found in (child, *below(child))]


class Rig:
    """A supervisor with all that it reports, and targets that are a few lines of Python."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reports: list[Report] = []
        self.supervisor = Supervisor.launch()
        self.supervisor.listen(start_thread, self.reports.append)

    def target(self, program: str, *, timeout_s: float = TIMEOUT_S) -> TargetSpec:
        folder = self.folder / "small"
        folder.mkdir(exist_ok=True)
        file = folder / "small.py"
        if not file.exists() or file.read_text(encoding="utf-8") != program:  # a target that is starting may be reading it
            file.write_text(program, encoding="utf-8")
        text = 'title = "Small"\ncommand = ["{python}", "small.py", "{port}"]\n[ready]\npath = "/health"\n'
        (folder / "target.toml").write_text(text + f"timeout_s = {timeout_s}\n", encoding="utf-8")
        return load_spec(folder)

    @property
    def supervisor_pid(self) -> int:
        """Pid of the supervisor, the only child of the watcher."""
        assert becomes_true(lambda: children(self.supervisor._process.pid))
        return children(self.supervisor._process.pid)[0]

    def run(self, program: str) -> int:
        return self.supervisor.start(self.target(program), {}, free_port())

    def wait_until_ready(self, spec: TargetSpec, port: int, run: int) -> str | None:
        """Returns the version that it names."""
        return wait_until_ready(self.supervisor, run, spec, port, sleep=sleep)

    def started(self, run: int) -> int:
        assert becomes_true(lambda: any(isinstance(each, Started) and each.run == run for each in self.reports))
        return next(each.pid for each in self.reports if isinstance(each, Started) and each.run == run)

    def exited(self, run: int) -> Exited:
        assert becomes_true(lambda: self.supervisor.exited(run))
        found = self.supervisor.exited(run)
        assert found is not None
        return found

    def printed(self, text: str) -> bool:
        return becomes_true(lambda: any(text in line for line in self.supervisor.output))


@contextmanager
def a_rig(folder: Path) -> Iterator[Rig]:
    rig = Rig(folder)
    try:
        yield rig
    finally:
        rig.supervisor.close(grace_s=0.5)
    assert not is_alive(rig.supervisor._process.pid)


PRINTS_AND_SLEEPS = "import time; print('up'); time.sleep(600)"

IGNORES_SIGTERM = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); time.sleep(600)"

LEAVES_WORKERS_AND_A_DAEMON = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() and os.fork():
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
    else:
        os.wait()
        print('up', flush=True)
time.sleep(600)
"""
"""Three processes in the group and a daemon in a session of its own, all of which ignore SIGTERM."""

LEAVES_A_DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print('daemon', os.getpid(), flush=True)
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(600)
"""

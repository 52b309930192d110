"""SIGKILL at random moments: what was recorded is readable, nothing is left running or listening, the terminal is restored."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from pathlib import Path
from time import sleep, time
from typing import Any, Literal

import msgspec
import psutil

from capexplorer.errors import SessionError
from capexplorer.model.events import Header, Sample, Target
from capexplorer.session.reader import open_session
from lab.kit.programs import missing
from lab.kit.runs import ROOT, Run, events_of, started_run, wait_until
from lab.kit.tables import spread
from lab.kit.terminal import OnTerminal, modes_left_on, on_terminal
from lab.trial import Judged, Result, SeedTrial, seeds

HERE = Path(__file__).resolve().parent
PROFILE = str(HERE / "profile.toml")

LOST_MOST_S = 2.0
"""The second that is not a sample yet, and one tick. The largest of 500 kills was 1.004 s (lab/results/kills.json)."""
GONE_WITHIN_S = 20.0
"""Grace period of a target that ignores signals (2 s), with room for a busy machine."""

Stage = Literal["starting", "spawning", "steady", "quitting"]
Service = Literal["process", "nginx", "gunicorn", "daemon"]

PROCESS = f"{sys.executable} {HERE}/services/daemon.py {{port}} stays"
"""A plain process with threads."""
COMMANDS: dict[Service, str] = {
    "process": PROCESS,
    "nginx": f"{sys.executable} {ROOT}/targets/static/serve.py --port {{port}}"
    " --folder {scratch} --workers 2 --keep-alive true --file-bytes 612",
    "gunicorn": f"{sys.executable} -m gunicorn --chdir {HERE}/services --workers 3 --bind 127.0.0.1:{{port}} wsgi:app",
    "daemon": f"{sys.executable} {HERE}/services/daemon.py {{port}}",
}
PROGRAMS: dict[Service, tuple[str, ...]] = {"nginx": ("nginx",)}
"""Programs other than Python that a service needs."""

WITHIN_S: dict[Stage, float] = {"starting": 6.0, "spawning": 4.0, "steady": 4.0, "quitting": 1.5}
"""Longest time from the begin of a stage to the kill. Start-up takes three to five seconds on a busy machine with two cores."""


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    surface: Literal["headless", "terminal"]
    victims: Literal["app", "supervisor", "both"]
    stage: Stage
    service: Service
    after_s: float
    """Seconds since the stage began: the start, the target's readiness, the first sample, SIGTERM."""


def kill(seed: int) -> Kill:
    """The kill with this number. 96 consecutive seeds have each combination once; the time is random."""
    stage: Stage = ("starting", "spawning", "steady", "quitting")[seed // 6 % 4]
    return Kill(
        surface=("headless", "terminal")[seed % 2],
        victims=("app", "supervisor", "both")[seed % 3],
        stage=stage,
        service=("nginx", "daemon", "gunicorn", "process")[seed // 24 % 4],
        after_s=round(random.Random(seed).uniform(0.0, WITHIN_S[stage]), 3),
    )


def carry_out(kill: Kill, folder: Path) -> Judged:
    problems: list[str] = []
    figures: dict[str, Any] = {}
    folder.mkdir(parents=True, exist_ok=True)
    with _started(kill, folder) as run:
        before = run.settings() if isinstance(run, OnTerminal) else None
        try:
            _await_stage(run, kill.stage)
            sleep(kill.after_s)
            ports = _listening(run.marked.processes())
            killed_at, figures["processes"] = _send_kill(run, kill)
            code = _end_survivor(run, kill)
            figures["already_over"] = kill.stage == "quitting" and code == 128 + signal.SIGTERM
            allowed = {-signal.SIGKILL} if kill.victims != "supervisor" else {4, 128 + signal.SIGTERM, -signal.SIGTERM}
            if code not in allowed and not figures["already_over"]:
                problems.append(f"exit code {code}: {run.stderr[-500:]}")
            problems += _left(run, ports)
            found = judge_logs(run.sessions, killed_at, kill)
            problems, figures = [*problems, *found.wrong], figures | found.figures
            if isinstance(run, OnTerminal) and not _seen(lambda: run.settings() == before and not modes_left_on(run.written)):
                problems.append(f"settings restored {run.settings() == before}, modes left {modes_left_on(run.written)}")
        except AssertionError as error:  # a wait timed out
            problems.append(str(error)[-2000:])
    return Judged(wrong=tuple(problems), figures=figures)


def _started(kill: Kill, folder: Path) -> AbstractContextManager[Run]:
    load = ("--plan", "40:60s", "--spawn-rate", "5") if kill.stage == "spawning" else ("--plan", "4:60s")
    arguments = (PROFILE, "--target-cmd", COMMANDS[kill.service], "--ready", "/", *load)
    return on_terminal(folder, *arguments) if kill.surface == "terminal" else started_run(folder, *arguments, "--headless")


def _await_stage(run: Run, stage: Stage) -> None:
    if stage == "spawning":
        run.wait_for_events(Target, lambda event: event.state == "ready")
    elif stage != "starting":
        run.wait_for_events(Sample)
    if stage == "quitting":
        os.kill(run.process.pid, signal.SIGTERM)


def _send_kill(run: Run, kill: Kill) -> tuple[float, int]:
    """Send SIGKILL to the victims; returns the wall-clock time, and the number of processes before it. Waits for a supervisor
    that has not started yet; does nothing if the run has ended."""
    if kill.victims != "app":
        wait_until(lambda: _supervisor(run) or run.process.poll() is not None, "a supervisor", GONE_WITHIN_S)
    processes = len(run.marked.processes())
    pids = [run.process.pid] if kill.victims in ("app", "both") and run.process.poll() is None else []
    pids += _supervisor(run) if kill.victims in ("supervisor", "both") else []
    killed_at = time()
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return killed_at, processes


def _supervisor(run: Run) -> list[int]:
    """Pid of the supervisor: its program runs in two processes, of which it is the child. While it starts there is only one."""
    pair = run.marked.pids("supervisor_process")
    with suppress(psutil.Error):
        return [pid for pid in pair if psutil.Process(pid).ppid() in pair] or pair
    return pair


def _end_survivor(run: Run, kill: Kill) -> int:
    """Wait for the app's end; returns its exit code. If only its supervisor was killed, a headless app ends by itself, and a
    screen, which waits for its user, gets SIGTERM."""
    if kill.victims == "supervisor" and kill.surface == "terminal":
        sleep(0.5)
        if run.process.poll() is None:
            run.process.terminate()
    wait_until(lambda: run.process.poll() is not None, "the app's end", GONE_WITHIN_S)
    return run.process.returncode


def _listening(pids: Any) -> set[int]:
    return {each.laddr.port for each in psutil.net_connections("tcp") if each.pid in pids and each.status == "LISTEN"}


def _seen(condition: Callable[[], object]) -> bool:
    with suppress(AssertionError):
        return bool(wait_until(condition, "", GONE_WITHIN_S))
    return False


def _left(run: Run, ports: set[int]) -> Iterator[str]:
    if not _seen(lambda: not run.marked.processes()):
        yield f"processes left: {run.marked.processes()}"
    if left := sorted(ports & _listening(psutil.pids())):
        yield f"still listened on: {left}"


def judge_logs(sessions: Path, killed_at: float, kill: Kill) -> Judged:
    """Whether all logs can be read, and the seconds from the last sample (before the first one: from the last line) to the kill.
    Only a run that was killed while it started may have none: the other stages begin with an event of the log."""
    logs = list(sessions.glob("*.jsonl"))
    problems = ["no log"] if not logs and kill.stage != "starting" else []
    figures: dict[str, Any] = {}
    for path in logs:
        try:
            with open_session(path) as log:
                events = list(log)
        except SessionError as error:
            problems.append(f"unreadable: {error}")
            continue
        header, samples = events[0], events_of(events, Sample)
        assert isinstance(header, Header)
        figures["samples"] = len(samples)
        if kill.stage == "quitting" or kill.victims == "supervisor":
            continue
        began_at = datetime.fromisoformat(header.started_at).timestamp()
        last_at = began_at + samples[-1].t_s if samples else path.stat().st_mtime
        figures["lost_s"] = round(killed_at - last_at, 3)
        if figures["lost_s"] > LOST_MOST_S:
            problems.append(f"{figures['lost_s']} s lost")
    return Judged(wrong=tuple(problems), figures=figures)


class Kills(SeedTrial[int]):
    name = "kills"
    about = "Kills runs at random moments. Exit code 1 for a process that is left or a bad log."
    count = 500
    parallel = 2

    def chosen(self, options: argparse.Namespace) -> Mapping[str, int]:
        return seeds(options)

    def why_not(self, case: int, options: argparse.Namespace) -> str:
        return missing(*PROGRAMS.get(kill(case).service, ()))

    def carry_out(self, case: int, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        return carry_out(kill(case), folder)

    def summary(self, results: Sequence[Result]) -> dict[str, Any]:
        done = [each for each in results if not each.skipped]
        names = ("surface", "victims", "stage", "service")
        return {
            "kills": len(done),
            "kinds": dict(Counter(f"{getattr(kill(int(each.case)), name)}" for each in done for name in names)),
            "already_over": sum(each.figures.get("already_over", False) for each in done),
            "with_a_log": sum(each.figures.get("lost_s") is not None or bool(each.figures.get("samples")) for each in done),
            "lost_s": spread(each.figures.get("lost_s") for each in done),
        }

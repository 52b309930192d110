"""Rows of the trial: each starts `capexplorer run` on real containers, ends it in one way, and returns the problems."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import psutil

from capexplorer.model.events import Ended, Event, Mark, PartState, Target
from capexplorer.model.findings import Bottleneck
from capexplorer.session.reader import open_session
from capexplorer.target.compose.docker import ask, compose_command

from .stack import (
    OTHER_PROJECT,
    PASSWORD,
    has_bridge,
    left_of_sessions,
    remove_other_project,
    running_of,
    write,
    write_on_a_bridge,
)

WITHIN_S = 90.0
_PLAN = "2:4s,4:4s"
_LONG = "2:300s"

Row = Callable[[Path], list[str]]
"""Carries out a row with its files in an empty folder; returns the problems that it found."""


class Session:
    """One run of the program in a folder."""

    def __init__(self, folder: Path, plan: str, environment: dict[str, str]) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "capexplorer", "run", "shop.toml", "--headless", "--plan", plan]
        with (folder / "stderr").open("wb") as errors:
            self.process = subprocess.Popen(
                [*command, "--sessions-dir", str(folder / "sessions")],
                cwd=folder,
                env={**os.environ, **environment},
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    @property
    def errors(self) -> str:
        """Its standard error so far."""
        return (self.folder / "stderr").read_text(encoding="utf-8", errors="replace")

    @property
    def log(self) -> Path:
        """The newest session's log."""
        return max((self.folder / "sessions").glob("*.jsonl"))

    def events(self) -> list[Event]:
        """All of its log."""
        with open_session(self.log) as reader:
            return list(reader)

    def until_loaded(self) -> None:
        """Wait until users send requests. Raises AssertionError."""
        await_that(lambda: "target ready" in self.errors or self.process.poll() is not None, "the target is ready")
        sleep(2.0)  # the plan's first level runs by then

    def end(self) -> int:
        """Wait until the run ends; returns its exit code."""
        return self.process.wait(WITHIN_S)


@contextmanager
def session(folder: Path, plan: str, **store: str) -> Iterator[Session]:
    """A run that is killed if it does not end."""
    with running(Session(folder, plan, write(folder, **store))) as run:
        yield run


@contextmanager
def running(run: Session) -> Iterator[Session]:
    """The run, which is killed if it does not end."""
    try:
        yield run
    finally:
        if run.process.poll() is None:
            run.process.kill()
            run.process.wait()


def await_that(condition: Callable[[], object], what: str) -> None:
    """Raises AssertionError after WITHIN_S."""
    deadline_s = monotonic() + WITHIN_S
    while not condition():
        assert monotonic() < deadline_s, f"not within {WITHIN_S:g} s: {what}"
        sleep(0.1)


def plan_to_its_end(folder: Path) -> list[str]:
    """Both services are read as parts, the password appears nowhere, no container is left."""
    with session(folder, _PLAN) as run:
        code = run.end()
    events = run.events()
    read = {each.name for each in events if isinstance(each, PartState) and each.state == "read" and each.pid is not None}
    return [
        *_problem_if(code != 0, f"exit code {code}: {run.errors}"),
        *_problem_if(read != {"web", "store"}, f"parts that were read: {sorted(read)}"),
        *_problem_if(PASSWORD in run.log.read_text(encoding="utf-8"), "the password is in the log"),
        *_nothing_left(),
    ]


def ended_by(number: signal.Signals) -> Row:
    """A signal to the app ends the services and saves the session."""

    def row(folder: Path) -> list[str]:
        with session(folder, _LONG) as run:
            run.until_loaded()
            run.process.send_signal(number)
            run.end()
        ended = [each for each in run.events() if isinstance(each, Ended)]
        return [*_problem_if(not ended, "the log has no end"), *_nothing_left()]

    return row


def ended_while_starting(folder: Path) -> list[str]:
    """SIGTERM while a service is not healthy yet."""
    with session(folder, _LONG, store="is unhealthy") as run:
        await_that(left_of_sessions, "a container is there")
        run.process.send_signal(signal.SIGTERM)
        run.end()
    return _nothing_left()


def app_killed(folder: Path) -> list[str]:
    """The supervisor ends the services of an app that was killed."""
    with session(folder, _LONG) as run:
        run.until_loaded()
        run.process.kill()
    return _nothing_left()


def all_killed(folder: Path) -> list[str]:
    """Nothing can end the services of a session whose processes are all killed; the next session removes them."""
    with session(folder, _LONG) as run:
        run.until_loaded()
        descendants = psutil.Process(run.process.pid).children(recursive=True)
        run.process.kill()
        for each in descendants:
            with suppress(psutil.NoSuchProcess):
                each.kill()
    survived = left_of_sessions()
    with session(folder, _PLAN) as run:
        code = run.end()
    return [
        *_problem_if(not survived, "no container survived the kill, so the row tests nothing"),
        *_problem_if(code != 0, f"exit code {code}: {run.errors}"),
        *_nothing_left(),
    ]


def service_dies(folder: Path) -> list[str]:
    """A container that ends under load ends the run, with one line that names it."""
    with session(folder, _LONG) as run:
        run.until_loaded()
        store = next(name for name in ask(["docker", "ps", "--format", "{{.Names}}"]).split() if "store" in name)
        ask(["docker", "kill", store])
        code = run.end()
    died = [each for each in run.events() if isinstance(each, Target) and each.state == "died"]
    return [
        *_problem_if(code != 4, f"exit code {code}"),
        *_problem_if(not died, "the log has no death of the target"),
        *_problem_if("store: exited with code 137" not in run.errors.splitlines()[-1], run.errors),
        *_nothing_left(),
    ]


def not_started(store: str, expected: str) -> Row:
    """A service that fails before all are ready ends the run with its last lines."""

    def row(folder: Path) -> list[str]:
        with session(folder, _LONG, store=store) as run:
            code = run.end()
        return [
            *_problem_if(code != 4, f"exit code {code}"),
            *_problem_if(expected not in run.errors, run.errors),
            *_problem_if(PASSWORD in run.errors + run.log.read_text(encoding="utf-8"), "the password was printed"),
            *_nothing_left(),
        ]

    return row


def beside_others(folder: Path) -> list[str]:
    """Two sessions and the containers that a user started from the same file run at once: none of them disturbs another."""
    environment = write(folder)
    up = [*(compose_command() or ()), "-p", OTHER_PROJECT, "-f", str(folder / "compose.yaml"), "up", "-d"]
    ask(up, timeout_s=60, environment={**os.environ, **environment})
    try:
        folders = [folder / "one", folder / "two"]
        for each in folders:
            each.mkdir()
        with session(folders[0], _PLAN) as one, session(folders[1], _LONG) as two:
            two.until_loaded()
            codes = [one.end()]
            still_running = len([name for name in left_of_sessions() if re.search(r"[-_](web|store)[-_]1\Z", name)])
            two.process.send_signal(signal.SIGTERM)
            two.end()
        volumes = ask(["docker", "volume", "ls", "--format", "{{.Name}}"]).split()
        return [
            *_problem_if(codes != [0], f"exit codes {codes}: {one.errors}"),
            *_problem_if(still_running != 2, f"{still_running} containers of the second session ran when the first had ended"),
            *_problem_if(running_of(OTHER_PROJECT) != 2, f"{running_of(OTHER_PROJECT)} containers of the other project run"),
            *_problem_if(f"{OTHER_PROJECT}_data" not in volumes, "the other project's volume is gone"),
        ]
    finally:
        remove_other_project(folder, environment)


def throttled_on_a_bridge(folder: Path) -> list[str]:
    """Services with addresses of their own behind a published port: the CPU quota of the store limits, and is named for no other
    service."""
    if not has_bridge():
        print("throttled-on-a-bridge: skipped, docker's daemon has no bridge network", flush=True)
        return []
    write_on_a_bridge(folder)
    with running(Session(folder, "2:8s,10:12s,20:12s,40:15s", {})) as run:
        code = run.end()
    found = [each.finding for each in run.events() if isinstance(each, Mark) and isinstance(each.finding, Bottleneck)]
    limits = sorted({(each.part or "target", each.name) for each in found if each.name != "not_saturated"})
    return [
        *_problem_if(code != 0, f"exit code {code}: {run.errors}"),
        *_problem_if(("store", "cpu_throttled") not in limits, f"limits that were marked: {limits}"),
        *_problem_if(any(part != "store" for part, _ in limits), f"limits that were marked: {limits}"),
        *_nothing_left(),
    ]


def _problem_if(condition: bool, problem: str) -> list[str]:
    return [problem] if condition else []


def _nothing_left() -> list[str]:
    """Problems if containers, volumes or networks of sessions are left after the grace period of the services."""
    try:
        await_that(lambda: not left_of_sessions(), "nothing is left")
    except AssertionError as error:
        return [f"{error}: {left_of_sessions()}"]
    return []


ROWS: dict[str, Row] = {
    "plan-to-its-end": plan_to_its_end,
    "sigint": ended_by(signal.SIGINT),
    "sigterm": ended_by(signal.SIGTERM),
    "sighup": ended_by(signal.SIGHUP),
    "sigterm-while-starting": ended_while_starting,
    "app-killed": app_killed,
    "all-killed": all_killed,
    "service-dies": service_dies,
    "service-exits-at-start": not_started("exits", "store: exited with code 3"),
    "service-unhealthy": not_started("is unhealthy", "store: unhealthy"),
    "beside-others": beside_others,
    "throttled-on-a-bridge": throttled_on_a_bridge,
}

"""The first process of a target of containers: starts them by Compose, watches them, and removes them when it is asked to end.

    supervisor ── this ── docker compose up      its output is the services' log
                     └─── docker events          says when to look; nothing is asked while nothing happens

SIGTERM ends it in order, also when the app is gone. Nothing of the project is left then; only if this process is killed, the next
session removes it (`removal.py`). The last line of its output says why it ended by itself.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
from pathlib import Path
from time import monotonic

from ...errors import TargetError
from . import containers as judged
from .compose_check import services_of
from .containers import Container, Readiness
from .docker import ask, compose_command, error_in, of_project
from .project_removal import project_of, remove, remove_left_behind
from .reported import write
from .running_command import RunningCommand

STOP_S = 20.0
"""Services may take this long to stop, then they are killed. Docker's own default is 10 s."""

_STOP_FAILED_S = 5.0
"""The same after a failure, which a person waits to read."""

_LOOK_S = 0.5
"""While they start."""

_LAST_LINES = 20
_EVENTS = ("die", "start", "health_status", "destroy")


def run(file: Path, timeout_s: float, containers_file: Path) -> int:
    """Until SIGTERM (0), or until a service fails (1)."""
    wake = _wake_on_signals()
    project = project_of(os.getppid())
    reason: str | None = None
    try:
        remove_left_behind()
        remove(project)
        composed = _Composed(project, file, timeout_s, containers_file, wake)
        try:
            reason = composed.serve()
        finally:
            composed.stop(STOP_S if reason is None else _STOP_FAILED_S)
    except TargetError as error:
        reason = str(error)
    finally:
        containers_file.unlink(missing_ok=True)
        for complaint in remove(project):
            print(f"not removed: {complaint}", flush=True)
    if reason is not None:
        print(reason, flush=True)
    return 0 if reason is None else 1


def _wake_on_signals() -> int:
    """A descriptor that becomes readable at SIGTERM and SIGINT."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writable)
    return readable


class _Composed:
    """The services of one file from `docker compose up` to their end."""

    def __init__(self, project: str, file: Path, timeout_s: float, containers_file: Path, wake: int) -> None:
        compose = compose_command()
        if compose is None:
            raise TargetError("neither `docker compose` nor `docker-compose` can be run")
        self._project, self._containers_file = project, containers_file
        self._timeout_s = timeout_s
        self._services = services_of(compose, file)
        self._containers: tuple[Container, ...] = ()
        self._began: tuple[Container, ...] | None = None
        """As they were when they were ready."""
        self._waiting = self._printed = ""
        """What was waited for at the last look, and what a line was printed about."""
        self._last_line = ""
        self._held: list[str] = []
        """Lines that were printed since the last look: what is secret in them is not known before the next."""
        events = [word for name in _EVENTS for word in ("--filter", f"event={name}")]
        self._events = RunningCommand(["docker", "events", *of_project(project), *events, "--format", "{{.Action}}"])
        up = [*compose, "--ansi", "never", "-p", project, "-f", str(file), "up", "--no-color", "--quiet-pull"]
        self._up = RunningCommand(up)
        self._selector = selectors.DefaultSelector()
        for descriptor in (wake, self._up.fileno, self._events.fileno):
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._wake = wake

    def serve(self) -> str | None:
        """Watch them; returns why they failed, None when a signal asks this process to end."""
        deadline_s = monotonic() + self._timeout_s
        while True:
            ready = {key.fd for key, _ in self._selector.select(_LOOK_S if self._began is None else None)}
            if self._wake in ready:
                return None
            if self._up.fileno in ready:
                self._held += self._up.lines()
            if self._events.fileno in ready:
                self._events.lines()
            if self._began is None or self._events.fileno in ready or self._up.has_ended:
                verdict = self._look()
                if verdict.state == "failed":
                    return self._failure(verdict)
            self._pass_on()
            if self._up.has_ended:
                return f"Compose ended: {self._last_line}" if self._last_line else "Compose ended"
            if self._began is None and monotonic() > deadline_s:
                return f"not ready after {self._timeout_s:g} s: {self._waiting}"
            self._unregister_ended()

    def _unregister_ended(self) -> None:
        if self._events.has_ended and self._events.fileno in self._selector.get_map():
            self._selector.unregister(self._events.fileno)
            print("docker's events ended: services are no longer watched for their end", flush=True)

    def _look(self) -> Readiness:
        """Ask for the state of all containers."""
        before, self._containers = self._containers, inspected(self._project)
        if self._began is not None:
            for line in judged.changes(before, self._containers):
                print(line, flush=True)
            return judged.of_run(self._containers, self._began)
        verdict = judged.of_start(self._containers, self._services)
        if verdict.state == "ready":
            self._began = self._containers
            write(self._containers, self._containers_file)
        elif verdict.state == "waiting":
            self._wait(verdict.why)
        return verdict

    def _wait(self, why: str) -> None:
        """Print what is waited for, one time, when two readings in a row gave the same."""
        if why == self._waiting and why != self._printed:
            self._printed = why
            print(f"waiting for {why}", flush=True)
        self._waiting = why

    def _pass_on(self) -> None:
        """Print what the services printed, without their secrets."""
        secrets = {secret for each in self._containers for secret in each.secrets}
        for line in self._held:
            print(judged.masked(line, secrets), flush=True)
        self._last_line = error_in("\n".join(self._held)) or self._last_line
        self._held.clear()

    def _failure(self, verdict: Readiness) -> str:
        """Print the last lines of the service that failed; returns why in one line."""
        self._pass_on()
        failed = verdict.container
        if failed is not None:
            for line in _last_lines(failed):
                print(f"{failed.service} | {judged.masked(line, failed.secrets)}", flush=True)
        return judged.masked(verdict.why, failed.secrets if failed is not None else ())

    def stop(self, within_s: float) -> None:
        """Let Compose stop the services in their order; what takes longer is killed with its container."""
        self._events.kill()
        self._up.terminate()
        deadline_s = monotonic() + within_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._up.fileno, selectors.EVENT_READ)
            while not self._up.has_ended and monotonic() < deadline_s:
                if selector.select(max(0.0, deadline_s - monotonic())):
                    self._held += self._up.lines()
        self._pass_on()
        self._up.kill()


def inspected(project: str) -> tuple[Container, ...]:
    """All containers of a project now. One that is removed between two questions is left out."""
    ids = ask(["docker", "ps", "-aq", "--no-trunc", *of_project(project)]).split()
    if not ids:
        return ()
    try:
        return judged.described(json.loads(ask(["docker", "inspect", *ids])))
    except TargetError:
        return ()


def _last_lines(container: Container) -> list[str]:
    """What it printed last, on both of its streams."""
    words = ["docker", "logs", "--tail", str(_LAST_LINES), container.id]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode("utf-8", "replace").splitlines()

"""`python -m capexplorer.target.containers_process FILE TIMEOUT_S CONTAINERS_FILE`: the first process of a target of containers.
It starts them by Compose, watches them, and removes them when it is asked to end.

    supervisor ── this ── docker compose up      its output is the services' log
                     └─── docker events          shows when containers change; docker is not asked while nothing changes

SIGTERM ends it in order, also if the app has ended, and nothing of the project is left. If this process is killed, the next
session removes the project (`remove_left_behind`). The last line of its output is the reason if it ended by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

from ..errors import TargetError
from ..procs.lines import PIECE_BYTES, LineSplitter
from ..procs.processes import is_alive
from ..procs.signals import wake_on
from .containers import (
    Container,
    Readiness,
    ask,
    changes,
    compose_command,
    described,
    error_in,
    masked,
    of_project,
    run_readiness,
    services_of,
    start_readiness,
    write_containers,
)

# -- running command -----------------------------------------------------------------------------------------------------------
# A command in the background whose output is read line by line.


_CONTROL = re.compile(r"\r|\x1b\[[0-9;]*[A-Za-z]")
"""Compose prints control sequences that clear a line even if its output is not a terminal."""


class RunningCommand:
    """It has a session of its own, so that a signal to the target's process group does not end it before its services stop."""

    def __init__(self, words: list[str]) -> None:
        environment = {**os.environ, "COMPOSE_MENU": "false", "COMPOSE_PROGRESS": "plain"}
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise TargetError(f"cannot run {words[0]}: {error.strerror}") from None
        assert self._process.stdout is not None
        self.fileno = self._process.stdout.fileno()
        self.has_ended = False
        self._splitter = LineSplitter()

    def lines(self) -> list[str]:
        """The lines that have arrived; to be called when `fileno` is readable."""
        piece = os.read(self.fileno, PIECE_BYTES)
        self.has_ended = not piece
        lines = self._splitter.add(piece) if piece else self._splitter.end()
        return [_CONTROL.sub("", line.decode("utf-8", "replace")).rstrip() for line in lines]

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL, and wait until it has ended."""
        self._process.kill()
        self._process.wait()


# -- project removal -----------------------------------------------------------------------------------------------------------
# Removes what a project left: its containers with their anonymous volumes, its networks, volumes and built images.
#
# They are selected by label, not by the Compose file. So nothing of other projects is removed (`compose down --volumes` removes a
# volume with a fixed `name:` even if it belongs to another project), and the next session finds what a killed one left.


_KINDS = (
    (("docker", "ps", "-aq"), ("docker", "rm", "--force", "--volumes")),
    (("docker", "network", "ls", "-q"), ("docker", "network", "rm")),
    (("docker", "volume", "ls", "-q"), ("docker", "volume", "rm", "--force")),
    (("docker", "images", "-q"), ("docker", "rmi", "--force")),
)
"""(list, remove), in the order in which they can be removed."""


def project_of(pid: int) -> str:
    """The project's name of the session whose supervisor is `pid`; it is unique."""
    return f"capexplorer-{_machine()}-{pid}"


def _machine() -> str:
    """An id of this boot and process-id namespace: other machines, and containers, may use the same daemon."""
    boot, namespace = socket.gethostname(), 0
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.stat("/proc/self/ns/pid").st_ino
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:8]


def remove(project: str) -> list[str]:
    """Remove a project. Returns a line for each kind of thing that could not be removed."""
    errors = []
    for listed, removed in _KINDS:
        try:
            found = set(ask([*listed, *of_project(project)]).split())
            if found:
                ask([*removed, *sorted(found)])
        except TargetError as error:
            errors.append(f"{' '.join(removed[:2])}: {error}")
    return errors


def remove_left_behind() -> None:
    """Remove the projects of this machine's sessions that have ended: all processes of such a session were killed."""
    label = "com.docker.compose.project"
    with suppress(TargetError):
        there = ask(["docker", "ps", "-a", "--filter", f"label={label}", "--format", f'{{{{.Label "{label}"}}}}'])
        for project in set(there.split()):
            if left_behind(project):
                remove(project)


def left_behind(project: str) -> bool:
    """Whether a project is that of a session of this machine which has ended."""
    found = re.fullmatch(rf"capexplorer-{_machine()}-(\d+)", project)
    return found is not None and not is_alive(int(found[1]))


STOP_S = 20.0
"""Services may take this long to stop, then they are killed. Docker's own default is 10 s."""

_STOP_FAILED_S = 5.0
"""The same after a failure: the user waits for the message."""

_INSPECT_EVERY_S = 0.5
"""While the containers start."""

_LAST_LINES = 20
_EVENTS = ("die", "start", "health_status", "destroy")


def run(file: Path, timeout_s: float, containers_file: Path) -> int:
    """Run the services until SIGTERM, or until one fails. Returns the exit code, 0 or 1."""
    wake = wake_on(signal.SIGTERM, signal.SIGINT)
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
        for error_line in remove(project):
            print(f"not removed: {error_line}", flush=True)
    if reason is not None:
        print(reason, flush=True)
    return 0 if reason is None else 1


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
        """The containers as they were when they became ready."""
        self._waiting = self._printed = ""
        """What was waited for at the last inspection, and at the last one that was printed."""
        self._last_line = ""
        self._held: list[str] = []
        """Lines that were printed since the last inspection: their secrets are known only after the next one."""
        events = [word for name in _EVENTS for word in ("--filter", f"event={name}")]
        self._events = RunningCommand(["docker", "events", *of_project(project), *events, "--format", "{{.Action}}"])
        up = [*compose, "--ansi", "never", "-p", project, "-f", str(file), "up", "--no-color", "--quiet-pull"]
        self._up = RunningCommand(up)
        self._selector = selectors.DefaultSelector()
        for descriptor in (wake, self._up.fileno, self._events.fileno):
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._wake = wake

    def serve(self) -> str | None:
        """Watch the services; returns why they failed, or None if a signal ends this process."""
        deadline_s = monotonic() + self._timeout_s
        while True:
            ready = {key.fd for key, _ in self._selector.select(_INSPECT_EVERY_S if self._began is None else None)}
            if self._wake in ready:
                return None
            if self._up.fileno in ready:
                self._held += self._up.lines()
            if self._events.fileno in ready:
                self._events.lines()
            if self._began is None or self._events.fileno in ready or self._up.has_ended:
                readiness = self._inspect()
                if readiness.state == "failed":
                    return self._failure(readiness)
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

    def _inspect(self) -> Readiness:
        """Ask docker for the state of all containers."""
        before, self._containers = self._containers, inspected(self._project)
        if self._began is not None:
            for line in changes(before, self._containers):
                print(line, flush=True)
            return run_readiness(self._containers, self._began)
        readiness = start_readiness(self._containers, self._services)
        if readiness.state == "ready":
            self._began = self._containers
            write_containers(self._containers, self._containers_file)
        elif readiness.state == "waiting":
            self._print_waiting(readiness.why)
        return readiness

    def _print_waiting(self, why: str) -> None:
        """Print what is waited for, once, if two inspections in a row found the same."""
        if why == self._waiting and why != self._printed:
            self._printed = why
            print(f"waiting for {why}", flush=True)
        self._waiting = why

    def _pass_on(self) -> None:
        """Print what the services printed, without their secrets."""
        secrets = {secret for each in self._containers for secret in each.secrets}
        for line in self._held:
            print(masked(line, secrets), flush=True)
        self._last_line = error_in("\n".join(self._held)) or self._last_line
        self._held.clear()

    def _failure(self, readiness: Readiness) -> str:
        """Print the last lines of the service that failed; returns the reason in one line."""
        self._pass_on()
        failed = readiness.container
        if failed is not None:
            for line in _last_lines(failed):
                print(f"{failed.service} | {masked(line, failed.secrets)}", flush=True)
        return masked(readiness.why, failed.secrets if failed is not None else ())

    def stop(self, within_s: float) -> None:
        """Let Compose stop the services in their order; after `within_s` the rest is killed with its containers."""
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
    """All containers of a project now; none if one is removed between the two calls."""
    ids = ask(["docker", "ps", "-aq", "--no-trunc", *of_project(project)]).split()
    if not ids:
        return ()
    try:
        return described(json.loads(ask(["docker", "inspect", *ids])))
    except TargetError:
        return ()


def _last_lines(container: Container) -> list[str]:
    """The last lines that it printed, on both of its streams."""
    words = ["docker", "logs", "--tail", str(_LAST_LINES), container.id]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode("utf-8", "replace").splitlines()


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])))

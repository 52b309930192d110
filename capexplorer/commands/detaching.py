"""`run --detach`: a run in the background, without a terminal. The command returns when the target is ready or has failed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import click

from .. import wording
from ..model.events import Event, Target
from ..run.options import RunOptions
from .afterwards import run_goes_on
from .assembly import AssembledRun, live_run, report_failure
from .error_output import print_line, printable
from .on_screen import HANG_UP, release_input
from .signals import signals_to

_READ_BYTES = 4096
_WAITING = "waiting: "
"""Begins the lines about a slow start, before the line with the session's id."""


def detached(options: RunOptions, prepare: Callable[[RunOptions], None]) -> int:
    """Fork, before there are threads; `prepare` is called in the new process. Returns the exit code, in both."""
    ready, errors = os.pipe(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(ready[1])
        os.close(errors[1])
        return _started(pid, ready[0], errors[0], options)
    os.close(ready[0])
    os.close(errors[0])
    os.setsid()
    release_input()
    for fd in (1, 2):
        os.dup2(errors[1], fd)
    os.close(errors[1])
    prepare(options)
    return _explore(options, ready[1])


def _started(pid: int, ready: int, errors: int, options: RunOptions) -> int:
    """In the first process: wait until the run is ready, and print how to attach; or print its error and return its exit code."""
    try:
        session = _session(ready)
        sentence = _all(errors) if not session else ""
        if not session:
            _, status = os.waitpid(pid, 0)
    except KeyboardInterrupt:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        raise
    if not session:
        click.echo(sentence or "capexplorer: the run ended before it was ready", err=True, nl=not sentence)
        return os.waitstatus_to_exitcode(status) or 1
    click.echo(session)
    for line in run_goes_on(session):
        print_line(line)
    if not options.steps and not options.autopilot:
        kept_s = options.profile.guards.unattended_s
        print_line(f"load by hand ends after {kept_s:g} s in which no attached screen has the controls")
    return 0


def _session(ready: int) -> str:
    """The session's id once the run is ready, empty if it ended before. Until then it is printed what the run waits for."""
    with open(ready, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not line.startswith(_WAITING):
                return line.strip()
            print_line(printable(line.removeprefix(_WAITING).rstrip("\n")))
    return ""


def _all(fd: int) -> str:
    """All text from the other end until it is closed."""
    data = b""
    while chunk := os.read(fd, _READ_BYTES):
        data += chunk
    return data.decode("utf-8", "replace")


def _explore(options: RunOptions, ready: int) -> int:
    """In the new process: run until the plan, the autopilot, a person or a failure ends it."""
    with live_run(options) as assembled, signals_to(lambda name: _interrupt(assembled, name)):
        _wait(assembled, ready)
        assembled.run.close()
    return report_failure(assembled.run)


def _interrupt(assembled: AssembledRun, name: str) -> None:
    if name != HANG_UP:
        assembled.run.outcome.interrupt(name)


def _wait(assembled: AssembledRun, ready: int) -> None:
    from ..load import native
    from ..run.unattended import POLL_S, Unattended

    run, unattended = assembled.run, Unattended(assembled.run)
    assembled.server.stop = unattended.stop
    run.start(lambda: None)
    while not any(map(_is_ready, events := run.take())):
        for event in events:
            if isinstance(event, Target) and event.state == "starting" and event.reason:
                os.write(ready, f"{_WAITING}{wording.target(event)}\n".encode())
        if run.outcome.reason is not None:
            return
        native.sleep(POLL_S)
    assert run.session_run.path is not None
    os.write(ready, f"{run.session_run.path.stem}\n".encode())
    assembled.capture.discard_output()
    while unattended.reason is None:
        native.sleep(POLL_S)
        run.take()  # no screen does


def _is_ready(event: Event) -> bool:
    return isinstance(event, Target) and event.state == "ready"

"""`capexplorer ab`."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

import click
from msgspec.structs import replace

from ... import wording
from ...errors import CapexplorerError, InputError
from ...model.load import Users
from ...report.ab import formats, result, sentences
from ...report.ab.result import LETTERS, Result
from ...report.compare.environment import RunConditions, conditions, subject
from ...report.compare.sentences import names
from ...report.writing import check_writable, write_file
from ...run.options import RunOptions
from ...steer.plan import duration_s
from ...wording.numbers import session_time
from ..run.resolving import resolve
from ..shared_options import parameters
from ..terminal import print_error, print_line, printable, signals_to
from .arguments import REPEATS_LEAST, SEED_MOST, AbArguments, loads_of, percent
from .child import ChildError, ChildRun
from .measuring import Measuring
from .sides import Side, sides

POLL_S = 0.1
"""Seconds between two checks of the runs; a level's end is in their logs a third of a second later."""


@click.command(params=parameters(AbArguments))
def command(**given: Any) -> int:
    """Tell which of two builds is better, in a way that survives noise.

    BUILD is the URL of a running service, a profile (name or path), a git ref of the repository of this folder, or a command
    that starts a service, such as "./server --port {port}". Where it is no profile, --profile or --request says what users do.

    Both run, and only one has load at a time: blocks of A and B in random order, at a load below A's knee, where p95 is
    compared, and at one beyond it, where goodput is the capacity. The run ends as soon as it is decided whether they differ by
    as much as --until, or the time has passed.

    Exit code 0: B is no worse; 3: B is worse; 5: not decided in time.
    """
    asked = AbArguments(**given)
    outcome = Result(
        a=result.Side(given="", understood=""),
        b=result.Side(given="", understood=""),
        loads=loads_of(asked.users, asked.rates),
        beyond_knee=False,
        until=percent(asked.until),
        within_s=duration_s(asked.within, "--within"),
        repeats=asked.repeats,
        seed=random.randint(0, SEED_MOST) if asked.seed is None else asked.seed,
    )
    if 1 < asked.repeats < REPEATS_LEAST:
        raise InputError(f"--repeats: expected 1, or {REPEATS_LEAST} or more, got {asked.repeats}: fewer restarts decide nothing")
    for path in _outputs(asked):
        check_writable(path, force=asked.force)
    interruption = Interruption()
    with signals_to(interruption.take), sides(asked) as both:
        for letter, side in zip(LETTERS, both, strict=True):
            print_line(printable(f"{letter}: {side.understood}"))
        _check(both, outcome)
        named = [result.Side(given=each.shown, understood=each.understood) for each in both]
        outcome = _carried_out(both, replace(outcome, a=named[0], b=named[1]), interruption)
    _tell(outcome)
    for path, render in _outputs(asked).items():
        write_file(path, render(outcome), force=asked.force)
    return 128 + getattr(signal, interruption.name) if interruption.name else outcome.exit_code


def _outputs(asked: AbArguments) -> dict[Path, Callable[[Result], bytes]]:
    renderers = ((asked.json, formats.json), (asked.markdown, formats.markdown), (asked.html, _page))
    return {path: render for path, render in renderers if path is not None}


def _page(outcome: Result) -> bytes:
    from ...report.ab import page  # imports the template engine

    return page.render(outcome)


class Interrupted(CapexplorerError):
    """A signal asked for the end."""


class Interruption:
    """The signal that asked for the end. It takes effect in a pause, so that nothing that was started is lost."""

    def __init__(self) -> None:
        self.name: str | None = None

    def take(self, name: str) -> None:
        """A signal arrived. Only the first counts: the runs end, which takes some seconds."""
        self.name = self.name or name

    def pause(self) -> None:
        """Wait for a moment. Raises Interrupted."""
        if self.name is None:
            time.sleep(POLL_S)
        if self.name is not None:
            raise Interrupted(f"ended by {self.name}")


def _check(both: Sequence[Side], asked: Result) -> None:
    """Raises InputError for what can be known before anything starts."""
    options: list[RunOptions] = []
    for side in both:
        with chdir(side.folder), _named(side.option):
            options.append(resolve(side.run))
    ports = [each.port for each in options if each.port is not None]
    if len(ports) == 2 and ports[0] == ports[1]:
        raise InputError(f"--b: listens on port {ports[1]}, as A does: both run at a time, so give {{port}} to the commands")
    most = min(each.profile.guards.max_users for each in options)
    if any(isinstance(each, Users) and each.users > most for each in asked.loads):
        raise InputError(f"--users: expected at most guards.max_users ({most})")
    for side, each in zip(both, options, strict=True):
        if not each.profile.guards.unattended_s:
            raise InputError(
                f"{side.option}: its profile has [guards] unattended_s = 0, so a run without a screen would end at once"
            )
        if asked.repeats > 1 and each.spec is None:
            raise InputError(f"--repeats: {side.option} is a running service, which cannot be started again here")


@contextmanager
def _named(option: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def _carried_out(both: Sequence[Side], asked: Result, interruption: Interruption) -> Result:
    """The result, whatever ends the run. Raises InputError: a run refuses to start."""
    runs: list[ChildRun] = []
    outcome = asked
    try:
        for letter, side in zip(LETTERS, both, strict=True):  # in turn: both may build the same file
            runs.append(ChildRun(letter, side.run, side.folder, interruption.pause))
            outcome = _attached(runs[-1], outcome)
        measuring = Measuring(runs, outcome, interruption.pause, _say)
        try:
            measuring.carry_out()
        finally:
            outcome = measuring.result
    except Interrupted as ended:
        print_line(f"{ended}: both runs end")
        outcome = replace(outcome, ended="interrupted", why=str(ended))
    except ChildError as failed:
        outcome = replace(outcome, ended="failed", why=str(failed))
    finally:
        _end(runs)
    return replace(outcome, warnings=tuple(_warnings(runs)))


def _attached(run: ChildRun, outcome: Result) -> Result:
    """With the session of this run, once it is ready."""
    run.attach()
    print_line(f"{run.name}: session {run.session}")
    named = {"session": run.session, "path": str(run.path)}
    return replace(outcome, a=replace(outcome.a, **named)) if run.name == "A" else replace(outcome, b=replace(outcome.b, **named))


def _end(runs: Sequence[ChildRun]) -> None:
    """End all runs, also if one of them does not end."""
    for step in (ChildRun.ask_to_end, ChildRun.wait_until_over):
        for run in runs:
            try:
                step(run)
            except (CapexplorerError, OSError, SubprocessError) as error:
                print_error(f"{run.name}: {error}")


def _warnings(runs: Sequence[ChildRun]) -> Iterator[str]:
    """What else differs between the two than the build, and what makes a run invalid."""
    headers = [run.timeline.header for run in runs]
    both = [RunConditions(header, {}) for header in headers if header is not None]
    if len(both) == len(LETTERS):
        differing = [*conditions(both), *(each for each in subject(both) if each.name == "requests and weights")]
        if differing:
            yield f"A and B differ in more than the build: {names(differing)}"
    for run in runs:
        if run.timeline.levels:
            worst = (each for each in wording.judgements(run.timeline).values() if each.severity == "critical")
            yield from (f"{run.name}: {each.sentence}" for each in worst)


def _say(passed_s: float, line: str) -> None:
    print_line(f"{session_time(passed_s)}  {printable(line)}")


def _tell(outcome: Result) -> None:
    """The warnings, the table and the verdict, on stdout; what failed, and the logs, on stderr."""
    for warning in outcome.warnings:
        print_error(warning)
    if outcome.why:
        print_error(outcome.why)
    for letter, side in zip(LETTERS, (outcome.a, outcome.b), strict=True):
        if side.path:
            print_line(f"{letter}: {side.path}")
    for line in sentences.table(outcome):
        click.echo(line)
    click.echo(f"{sentences.verdict(outcome)}.")

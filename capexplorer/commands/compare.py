"""`capexplorer compare`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import paths
from ..errors import InputError
from ..model.timeline import Timeline
from ..report.compare import Comparison, SecondLatencies, Session, compare, sentences
from ..report.compare.fail_if import HELP, Condition, judge, parse
from ..report.writing import write_file
from ..session import files
from ..session.catalog import find
from ..session.reader import SessionReader, open_session
from . import shared_options
from .configured_preferences import own_preferences
from .shared_options import with_found
from .terminal import print_error, print_line, require_screen

if TYPE_CHECKING:
    from ..report.compare.comparison import Curve
    from ..tui.screens.view_options import Baselines


FORMATS = ("md", "html", "json")
JUNIT = "junit"
"""A further format, of conditions."""

FAILED = 3
"""A condition of --fail-if holds."""

_SUFFIXES = {".html": "html", ".htm": "html", ".json": "json", ".xml": JUNIT}


@click.command(epilog=f"\b\n{HELP}")
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...", shell_complete=shared_options.sessions)
@click.option(
    "--format",
    "form",
    type=click.Choice((*FORMATS, JUNIT)),
    help="Default: from the suffix of -o; else the screen on a terminal, or md.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=None, help="Output file; default: stdout.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--reanalyse", is_flag=True, help="Use the marks that this version finds, not the recorded ones.")
@shared_options.sessions_dir
@click.option(
    "--fail-if", "conditions", multiple=True, metavar="CONDITION", help='Exit with code 3 if it holds: "knee<-5%"; see below.'
)
def command(
    sessions: tuple[str, ...],
    form: str | None,
    output: Path | None,
    force: bool,
    reanalyse: bool,
    sessions_dir: Path | None,
    conditions: tuple[str, ...],
) -> int:
    """Compare two or more sessions. The first is the baseline.

    SESSION is a path, any unique part of an id or title, `last` or `last-1`; SESSION#1 or SESSION:epoch=1 is one epoch of it. A
    session with several epochs stands for each of them.
    """
    parsed_conditions = [parse(condition) for condition in conditions]
    on_screen = form is None and output is None and not parsed_conditions and sys.stdout.isatty()
    if on_screen:
        require_screen("the comparison", "compare --format md")
    comparison = compare([opened(name, paths.sessions(sessions_dir), reanalyse=reanalyse) for name in sessions])
    if on_screen:
        return _show(comparison)
    chosen = form or _SUFFIXES.get(output.suffix.lower() if output else "", "md")
    content = _test_cases(comparison, parsed_conditions) if chosen == JUNIT else rendered(comparison, chosen)
    if output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_file(output, content, force=force)
    for warning in sentences.warnings(comparison):
        print_error(warning)
    return _judged(parsed_conditions, comparison)


def opened(name: str, folders: Sequence[Path], *, reanalyse: bool = False) -> Session:
    """Read the session `ID`, `ID#1` or `ID:epoch=1`; print notes about damage to its log. Raises InputError."""
    path, epoch = locate(name, folders)
    session, log = read(path, epoch, reanalyse=reanalyse)
    for note in log.notes:
        print_error(f"{path}: {note}")
    return session


def locate(name: str, folders: Sequence[Path]) -> tuple[Path, int | None]:
    """Where the session `ID`, `ID#1` or `ID:epoch=1` is, and which epoch is meant. Raises InputError."""
    name, epoch = _epoch_of(name, folders)
    return find(name, folders), epoch


def read(path: Path, epoch: int | None = None, *, reanalyse: bool = False) -> tuple[Session, SessionReader]:
    """A whole session with the histograms of its seconds, and its reader, closed. Raises SessionError."""
    latencies = SecondLatencies()
    with open_session(path) as log:
        timeline = Timeline(latencies.collecting(with_found(path, log) if reanalyse else log))
    return Session(timeline, epoch, files.read_title(path), log.damaged, latencies), log


def _epoch_of(name: str, folders: Sequence[Path]) -> tuple[str, int | None]:
    """Split off the epoch; an existing file whose name ends like that is taken as a whole."""
    if any(path.exists() for path in (Path(name), *(each / name for each in folders))):
        return name, None
    for mark in ("#", ":epoch="):
        session, found, epoch = name.rpartition(mark)
        if found and session:
            if not epoch.isdecimal():
                raise InputError(f"{name}: expected a number behind `{mark}`, as in {session}{mark}1")
            return session, int(epoch)
    return name, None


def rendered(comparison: Comparison, form: str) -> bytes:
    """The comparison in one of FORMATS."""
    from ..report.compare import json, markdown, page

    renderers: dict[str, Callable[[Comparison], bytes]] = {"md": markdown.render, "html": page.render, "json": json.render}
    return renderers[form](comparison)


def _test_cases(comparison: Comparison, conditions: Sequence[Condition]) -> bytes:
    """The conditions as JUnit XML. Raises InputError without any: a file without a test case fails in some CI systems."""
    from ..report.checks import Baseline
    from ..report.formats import junit

    if not conditions:
        raise InputError("--format junit: needs --fail-if: its conditions are the test cases")
    checks = Baseline(conditions=tuple(conditions), comparison=comparison).checks
    return junit.render("compare", checks, {"verdict": sentences.verdict(comparison)})


def _judged(conditions: Sequence[Condition], comparison: Comparison) -> int:
    """Print each condition's result on stderr; 3 if one holds. Raises InputError if one cannot be judged and none holds."""
    outcomes = [judge(condition, comparison) for condition in conditions]
    for line in (line for each in outcomes for line in (*each.failed, *each.excused)):
        print_error(line)
    unjudged = [line for each in outcomes for line in each.unjudged]
    if any(each.failed for each in outcomes):
        for line in unjudged:
            print_error(line)
        return FAILED
    if unjudged:
        for line in unjudged[1:]:
            print_error(line)
        raise InputError(f"--fail-if: {unjudged[0]}")
    for condition in conditions:
        print_line(f"capexplorer: {condition.text}: passed")
    return 0


def _show(comparison: Comparison) -> int:
    from ..tui.screens.compare import CompareApp
    from ..tui.terminal import own_terminal
    from .terminal import signals_to

    preferences = own_preferences()
    with own_terminal() as terminal:
        app = CompareApp(comparison, terminal=terminal, preferences=preferences)
        with signals_to(app.request_exit):
            app.run_to_end()
    return 0


# -- baseline ------------------------------------------------------------------------------------------------------------------
# `--baseline`: the capacity curve of a saved session, drawn behind that of another one.


MOST_BYTES_LIVE = 20_000_000
"""Largest log that is read while load may run, about two hours of a session: reading it delays the load by 0.1 s."""


def baselines(first: str | None, sessions_dir: Path | None, *, live: bool) -> Baselines:
    """The baselines that a screen may draw. `first`: the session of `--baseline`, which is read now. Raises InputError."""
    from ..tui.screens.view_options import Baselines

    folders = paths.sessions(sessions_dir)
    most = MOST_BYTES_LIVE if live else None
    return Baselines(lambda name: curve(name, folders, most), None if first is None else curve(first, folders))


def curve(name: str, folders: Sequence[Path], most_bytes: int | None = None) -> Curve:
    """The curve of `ID` or `ID#1`; of a session with several epochs that of the last. Raises InputError."""
    from ..report.compare import curve_of_last
    from ..wording.quantities import size

    path, epoch = locate(name, folders)
    if most_bytes is not None and path.stat().st_size > most_bytes:
        raise InputError(
            f"{name}: its log has {size(path.stat().st_size)}; give it at the start, with --baseline: reading it would delay the "
            "load"
        )
    return curve_of_last(read(path, epoch)[0])

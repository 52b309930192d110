"""`capexplorer compare`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from .. import paths
from ..errors import InputError
from ..model.timeline import Timeline
from ..report.compare import Comparison, SecondLatencies, Session, compare, sentences
from ..report.compare.fail_if import HELP, Condition, judge, parse
from ..report.writing import write_file
from ..session import titles
from ..session.catalog import find
from ..session.reader import open_session
from .reanalysing import with_found
from .telling import say, tell
from .terminals import require_screen

FORMATS = ("md", "html", "json")

FAILED = 3
"""A condition of --fail-if holds."""

_SUFFIXES = {".html": "html", ".htm": "html", ".json": "json"}


@click.command(epilog=f"\b\n{HELP}")
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Without it: by the name of -o; the screen on a terminal; else md."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=None, help="A file; without it, stdout.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--reanalyse", is_flag=True, help="With the marks that this version finds in each.")
@click.option("--sessions-dir", type=click.Path(path_type=Path), default=None, help="Where ids are looked up.")
@click.option(
    "--fail-if", "conditions", multiple=True, metavar="CONDITION", help='Exit with 3 when it holds: "knee<-5%", see below.'
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
    """Two or more sessions beside each other; the first is what the others are held against.

    SESSION is a path, an id, the beginning of one, or `last`; SESSION#1 or SESSION:epoch=1 is one epoch of it. A session with
    several epochs stands for each of them.
    """
    asked = [parse(condition) for condition in conditions]
    on_screen = form is None and output is None and not asked and sys.stdout.isatty()
    if on_screen:
        require_screen("the comparison", "compare --format md")
    comparison = compare([opened(name, sessions_dir or paths.sessions(), reanalyse=reanalyse) for name in sessions])
    if on_screen:
        return _look(comparison)
    content = rendered(comparison, form or _SUFFIXES.get(output.suffix.lower() if output else "", "md"))
    if output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_file(output, content, force=force)
    for warning in sentences.warnings(comparison):
        tell(warning)
    return _judged(asked, comparison)


def opened(name: str, folder: Path, *, reanalyse: bool = False) -> Session:
    """`ID`, `ID#1` or `ID:epoch=1`, read; what its log lacks is told. Raises InputError."""
    name, epoch = _epoch_of(name, folder)
    path = find(name, folder)
    latencies = SecondLatencies()
    with open_session(path) as log:
        timeline = Timeline(latencies.noting(with_found(path, log) if reanalyse else log))
        for note in log.notes:
            tell(f"{path}: {note}")
    return Session(timeline, epoch, titles.read(path), log.damaged, latencies)


def _epoch_of(name: str, folder: Path) -> tuple[str, int | None]:
    """A file whose own name ends like that is meant as it is."""
    if Path(name).exists() or (folder / name).exists():
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


def _judged(asked: Sequence[Condition], comparison: Comparison) -> int:
    """Told on stderr; 3 when one failed. Raises InputError where one cannot be judged and none failed."""
    outcomes = [judge(condition, comparison) for condition in asked]
    for line in (line for each in outcomes for line in (*each.failed, *each.excused)):
        tell(line)
    unjudged = [line for each in outcomes for line in each.unjudged]
    if any(each.failed for each in outcomes):
        for line in unjudged:
            tell(line)
        return FAILED
    if unjudged:
        for line in unjudged[1:]:
            tell(line)
        raise InputError(f"--fail-if: {unjudged[0]}")
    for condition in asked:
        say(f"capexplorer: {condition.text}: passed")
    return 0


def _look(comparison: Comparison) -> int:
    from ..tui.screens.compare import CompareApp
    from ..tui.terminal import own_terminal
    from .signals import signals_to

    with own_terminal() as terminal:
        app = CompareApp(comparison, terminal=terminal)
        with signals_to(app.request_exit):
            app.look()
    return 0

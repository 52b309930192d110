"""`capexplorer export`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from .. import paths, wording
from ..errors import InputError
from ..model.events import Event
from ..model.timeline import Timeline
from ..report.formats import FORMATS, ci_summary
from ..report.redaction import redacted
from ..session.canonical import canonical
from ..session.catalog import find
from ..session.reader import open_session
from . import shared_options
from .shared_options import with_found
from .terminal import print_error

_STDOUT = Path("-")


def _format_help() -> str:
    return "; ".join(f"{each.name}: {each.description}" for each in FORMATS.values()) + f". {wording.CONVENTIONS}"


@click.command(epilog=_format_help())
@click.argument("session", shell_complete=shared_options.sessions)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="json", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=None,
    help=f"Output file ({', '.join(each.name for each in FORMATS.values() if not each.suffix)}: a folder); default: stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file, or write into a folder that is not empty.")
@click.option(
    "--redact", is_flag=True, help="Remove host names, addresses and file paths (and secrets, which older logs may contain)."
)
@click.option("--reanalyse", is_flag=True, help="Use the marks that this version finds, and list the changes.")
@click.option(
    "--picture-url",
    metavar="URL",
    help="With --format summary and -o: the page links to URL in place of a chart; the picture is written beside the page.",
)
@shared_options.sessions_dir
def command(
    session: str,
    form: str,
    output: Path | None,
    force: bool,
    redact: bool,
    reanalyse: bool,
    picture_url: str | None,
    sessions_dir: Path | None,
) -> None:
    """Write a saved session in another format. SESSION is a path, any unique part of an id or title, `last`, `last-1`, or
    `sample`, which comes along.
    """
    if picture_url is not None and (form != ci_summary.FORMAT.name or output in (None, _STDOUT)):
        raise InputError(f"--picture-url: needs --format {ci_summary.FORMAT.name} and -o FILE")
    path = find(session, paths.sessions(sessions_dir))
    with _events(path) as recorded:
        events: Iterable[Event] = with_found(path, recorded) if reanalyse else recorded
        if redact:
            events = redacted(map(canonical, events))
        if output is not None and output != _STDOUT:
            files = (
                ci_summary.files(Timeline(events), output.name, picture_url)
                if picture_url is not None
                else FORMATS[form].of_log(events, output.name)
            )
            FORMATS[form].write(files, output, force=force)
            return
        content = FORMATS[form].to_text(events)
    sys.stdout.buffer.write(content)
    if left_out := FORMATS[form].text_lacks:
        print_error(f"--format {form} on stdout: {left_out}")


@contextmanager
def _events(path: Path) -> Iterator[Iterable[Event]]:
    """A session's events; at the end, lines that could not be read are reported on stderr."""
    with open_session(path) as log:
        yield log
        for note in log.notes:
            print_error(f"{log.path}: {note}")

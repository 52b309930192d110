"""What several commands have: what a shell completes, options of the same meaning, how options are declared, `--reanalyse`.

Completion reads only names of files, and never fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from .. import __version__, paths, wording
from ..addresses import without_userinfo
from ..analysis.reanalysis import Reanalysis, reanalyse_events, reanalysed_events
from ..errors import CapexplorerError, InputError
from ..model.events import Event, Log, Reanalysed
from ..session.catalog import logs
from ..session.reader import open_session
from ..session.writer import SessionWriter
from .terminal import print_error

SESSIONS_MOST = 200
"""Newest sessions that are offered."""


def profiles(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Names that begin with what was typed."""
    return [name for name in paths.profiles() if name.startswith(typed)]


def sessions(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """`last`, the newest sessions by their ids, and the samples."""
    ids: list[str] = []
    with suppress(CapexplorerError):
        named: Path | None = ctx.params.get("sessions_dir")
        ids = sorted(logs(paths.sessions(named) if named else paths.usual_sessions()), reverse=True)
    names = dict.fromkeys(["last", *ids[:SESSIONS_MOST], *paths.sample_sessions()])
    return [name for name in names if name.startswith(typed)]


def runs(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The ids of the runs that are going on."""
    from ..remote import run_sockets

    return [name for name in run_sockets.running() if name.startswith(typed)]


sessions_dir = click.option("--sessions-dir", type=click.Path(path_type=Path), help="Folder in which session ids are looked up.")
baseline = click.option("--baseline", metavar="SESSION", help="Draw the curve of this saved session as the baseline (key b).")


# -- declaring -----------------------------------------------------------------------------------------------------------------
# A command with many options has a dataclass of them, each declared once, as a field. Their values are not checked here.


def argument(**settings: Any) -> Any:
    """A field that is an argument, which may be left out."""
    return field(default=None, metadata={"parameter": lambda name: click.Argument([name], required=False, **settings)})


def option(*flags: str, **settings: Any) -> Any:
    """A field that is an option. If it is not given: None, of a flag False, of a repeatable one ()."""
    default = () if settings.get("multiple") else False if settings.get("is_flag") else None
    return field(default=default, metadata={"parameter": lambda name: click.Option([name, *flags], **settings)})


def parameters(kind: type[Any]) -> list[click.Parameter]:
    """The fields of such a dataclass as click declares them."""
    return [each.metadata["parameter"](each.name) for each in fields(kind) if each.metadata]


def words(arguments: Any) -> list[str]:
    """Such a dataclass as words of a command line. A value is joined to its option, so that none is taken for an option."""
    found: list[str] = []
    for each in fields(arguments):
        value = getattr(arguments, each.name)
        if not each.metadata or value is None or value is False or value == ():
            continue
        parameter: click.Parameter = each.metadata["parameter"](each.name)
        if isinstance(parameter, click.Argument):
            found.append(str(value))
        elif value is True:
            found.append(parameter.opts[-1])
        else:
            found += [f"{parameter.opts[-1]}={one}" for one in (value if isinstance(value, tuple) else (value,))]
    return found


class LocalFile(click.Path):
    """The path of a file of this machine. A URL is refused as it was typed: a path would lose one of its slashes."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Raises InputError: a URL."""
        if "://" in str(value):
            named = param.opts[0] if isinstance(param, click.Option) else "FILE"
            raise InputError(f"{named}: expected a file of this machine, got {without_userinfo(str(value))}")
        return super().convert(value, param, ctx)


# -- reanalysing ---------------------------------------------------------------------------------------------------------------
# `--reanalyse`: a saved session with the marks of this version's detectors instead of the recorded ones.
#
# The log is read twice, for the detectors and for the output; it is never changed.


def found_again(path: Path) -> Reanalysis:
    """What this version's detectors find in the session at `path`. Each change is a line on stderr. Raises SessionError."""
    with open_session(path) as log:
        analysis = reanalyse_events(log)
    for line in _lines(analysis.as_event(__version__)):
        print_error(line)
    return analysis


def with_found(path: Path, events: Iterable[Event]) -> Iterator[Event]:
    """`events` of the session at `path`, with the marks found again."""
    return reanalysed_events(events, found_again(path), __version__)


@contextmanager
def reanalysed_copy(path: Path) -> Iterator[Path]:
    """A temporary copy of the session at `path` with the marks found again; deleted afterwards. Its output lines list the
    changes."""
    with TemporaryDirectory(prefix="capexplorer-") as folder, open_session(path) as log:
        copy = Path(folder) / path.name
        writer = SessionWriter(copy)
        try:
            for event in with_found(path, log):
                writer.write(event)
                if isinstance(event, Reanalysed):
                    for line in _lines(event):
                        writer.write(Log(t_s=event.t_s, source="capexplorer", text=line))
        finally:
            writer.close()
        for note in log.notes:
            print_error(f"{path}: {note}")
        yield copy


def _lines(event: Reanalysed) -> list[str]:
    return [wording.reanalysed(event), *map(wording.change, event.changes)]

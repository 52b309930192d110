"""`--reanalyse`: a saved session with the marks of this version's detectors instead of the recorded ones.

The log is read twice, for the detectors and for the output; it is never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .. import __version__, wording
from ..analysis.reanalysis import Reanalysis, reanalyse_events, reanalysed_events
from ..model.events import Event, Log, Reanalysed
from ..session.reader import open_session
from ..session.writer import SessionWriter
from .error_output import print_error


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

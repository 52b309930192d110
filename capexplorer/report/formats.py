"""The table of the formats of `export`, and how they are written to stdout or to disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InputError
from ..model.events import Event
from ..model.timeline import Timeline
from ..wording import units
from . import csv, hgrm, locust_csv, markdown
from .summary import summarise
from .writing import Files, write_files, write_folder

# -- json ----------------------------------------------------------------------------------------------------------------------
# `export --format json`: the summary. The same session gives the same bytes.


def render(document: dict[str, Any]) -> bytes:
    """The document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format, which has either `files` or `files_of_log`."""

    name: str
    description: str
    """A few words for the export form and for help."""
    suffix: str = ""
    """Suffix of the file that it writes, which may have a picture in the same folder; empty: it writes a folder of files."""
    files: Callable[[Timeline, str], Files] | None = None
    """Makes the files from a timeline and the name of the output."""
    files_of_log: Callable[[Iterable[Event]], Files] | None = None
    """Makes the files from the events of a log, for a format that needs more than a timeline has."""
    text: Callable[[Timeline], bytes] | None = None
    """Makes the text for stdout; None: the format cannot be written there."""
    text_lacks: str = ""
    """A note on what that text leaves out; empty if nothing."""

    @property
    def live(self) -> bool:
        """Whether it can be written from a timeline; otherwise it needs the log's events."""
        return self.files is not None


def _page(timeline: Timeline) -> bytes:
    from . import html  # imports Jinja2, which takes 0.05 s: not needed at the start of the picker and the screen

    return html.render(timeline)


@units.fixed()
def _summary(timeline: Timeline) -> bytes:
    return render(summarise(timeline))


@units.fixed()
def _tables(timeline: Timeline, name: str) -> Files:
    return csv.render(timeline)


FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format(
            name="md",
            description="Markdown for a ticket or a pull request, with a picture",
            suffix=".md",
            files=markdown.with_picture,
            text=markdown.render,
            text_lacks="without its picture; -o FILE writes both",
        ),
        Format(
            name="html",
            description="a page with interactive charts, in one file",
            suffix=".html",
            files=lambda timeline, name: {name: _page(timeline)},
            text=_page,
        ),
        Format(
            name="csv",
            description="a folder of tables: levels, endpoints, seconds, causes, parts",
            files=_tables,
            text=csv.levels,
            text_lacks="the levels only; -o FOLDER writes all tables",
        ),
        Format(
            name="json",
            description="the summary for programs",
            suffix=".json",
            files=lambda timeline, name: {name: _summary(timeline)},
            text=_summary,
        ),
        Format(
            name="hgrm",
            description="a folder: one percentile distribution per level",
            files=lambda timeline, _: hgrm.render(timeline),
        ),
        Format(name="locust-csv", description="a folder: Locust's four files", files_of_log=locust_csv.render),
    )
}


def to_text(name: str, events: Iterable[Event]) -> tuple[bytes, str]:
    """(text for stdout, note on what it leaves out or empty). Raises InputError for a format that only makes a folder."""
    form = FORMATS[name]
    if form.text is None:
        raise InputError(f"--format {name}: writes several files; name a folder with -o")
    return form.text(Timeline(events)), form.text_lacks


def to_disk(name: str, events: Iterable[Event], path: Path, *, force: bool) -> int:
    """Write a log's events to `path`. Returns the number of bytes. Raises InputError if the path exists or cannot be written."""
    form = FORMATS[name]
    if form.files_of_log is not None:
        return _written(form, form.files_of_log(events), path, force)
    return write(name, Timeline(events), path, force=force)


def write(name: str, timeline: Timeline, path: Path, *, force: bool) -> int:
    """Write a timeline, which may still grow, to `path`. Returns the number of bytes. Raises InputError as `to_disk` does."""
    form = FORMATS[name]
    if form.files is None:
        raise InputError(f"{name}: cannot be written from the screen; export the saved session")
    return _written(form, form.files(timeline, path.name), path, force)


def _written(form: Format, files: Files, path: Path, force: bool) -> int:
    if form.suffix:
        write_files(path, files, force=force)
    elif path.suffix in (".csv", ".hgrm"):
        raise InputError(f"{path}: this format writes several files; -o names a folder for them")
    else:
        write_folder(path, files, force=force)
    return sum(map(len, files.values()))

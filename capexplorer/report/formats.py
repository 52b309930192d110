"""The table of the formats of `export`: their names, and what each writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..model.events import Event
from ..model.timeline import Timeline
from ..wording import byte_units
from . import csv, hgrm, json, locust_csv, markdown
from .summary import summarise
from .writing import Files, write_beside, write_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write a session. It has `files` or `files_of_log`."""

    name: str
    description: str
    """What it is, for a form and for help."""
    suffix: str = ""
    """Of the one file that it writes (a picture may stand beside it); empty: a folder of files."""
    files: Callable[[Timeline, str], Files] | None = None
    """From a timeline and the name of the output to files."""
    files_of_log: Callable[[Iterable[Event]], Files] | None = None
    """From the events of a log to files, for a format that a timeline is not enough for."""
    text: Callable[[Timeline], bytes] | None = None
    """Its one text, for stdout; None: it has none."""
    text_lacks: str = ""
    """What that text leaves out."""

    @property
    def live(self) -> bool:
        """Whether it can be written from a timeline; otherwise it needs the log's events."""
        return self.files is not None


def _page(timeline: Timeline) -> bytes:
    from . import html  # Jinja2: 0.05 s that the picker and the screen need not wait for

    return html.render(timeline)


@byte_units.fixed()
def _summary(timeline: Timeline) -> bytes:
    return json.render(summarise(timeline))


@byte_units.fixed()
def _tables(timeline: Timeline, name: str) -> Files:
    return csv.render(timeline)


FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format(
            name="md",
            description="Markdown for a ticket or a pull request, with a picture",
            suffix=".md",
            files=markdown.beside,
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
    """(text for stdout, a note on what it leaves out, or empty). Raises InputError for a format that only makes a folder."""
    form = FORMATS[name]
    if form.text is None:
        raise InputError(f"--format {name}: writes several files; name a folder with -o")
    return form.text(Timeline(events)), form.text_lacks


def to_disk(name: str, events: Iterable[Event], path: Path, *, force: bool) -> int:
    """Write to `path`; returns the number of bytes. Raises InputError: exists already, or cannot be written."""
    form = FORMATS[name]
    if form.files_of_log is not None:
        return _written(form, form.files_of_log(events), path, force)
    return write(name, Timeline(events), path, force=force)


def write(name: str, timeline: Timeline, path: Path, *, force: bool) -> int:
    """Write from a timeline, which may still grow."""
    form = FORMATS[name]
    if form.files is None:
        raise InputError(f"{name}: cannot be written from the screen; export the saved session")
    return _written(form, form.files(timeline, path.name), path, force)


def _written(form: Format, files: Files, path: Path, force: bool) -> int:
    if form.suffix:
        write_beside(path, files, force=force)
    elif path.suffix in (".csv", ".hgrm"):
        raise InputError(f"{path}: this format writes several files; -o names a folder for them")
    else:
        write_folder(path, files, force=force)
    return sum(map(len, files.values()))

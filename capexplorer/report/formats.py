"""The table of the formats of `export`: their names, and what each writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..model.events import Event
from ..model.timeline import Timeline
from . import csv, hgrm, json, locust_csv, markdown
from .summary import summarise
from .writing import write_beside, write_folder


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a session."""

    name: str
    description: str
    """What it is, for a form and for help."""
    suffix: str = ""
    """Of the one file that it writes (a picture may stand beside it); empty: a folder of files."""
    live: bool = True
    """Whether it can be written from a timeline; otherwise it needs the log's events."""


FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format("md", "Markdown for a ticket or a pull request, with a picture", ".md"),
        Format("html", "a page with interactive charts, in one file", ".html"),
        Format("csv", "a folder: levels.csv, seconds.csv, causes.csv, parts.csv"),
        Format("json", "the summary for programs", ".json"),
        Format("hgrm", "a folder: one percentile distribution per level"),
        Format("locust-csv", "a folder: Locust's four files", live=False),
    )
}


def to_text(name: str, events: Iterable[Event]) -> tuple[bytes, str]:
    """(text for stdout, a note on what it leaves out, or empty). Raises InputError for a format that only makes a folder."""
    match name:
        case "md":
            return markdown.render(Timeline(events)), "without its picture; -o FILE writes both"
        case "html":
            return _page(Timeline(events)), ""
        case "json":
            return json.render(summarise(Timeline(events))), ""
        case "csv":
            return csv.levels(Timeline(events)), "the levels only; -o FOLDER writes levels.csv, seconds.csv and causes.csv"
    raise InputError(f"--format {name}: writes several files; name a folder with -o")


def to_disk(name: str, events: Iterable[Event], path: Path, *, force: bool) -> int:
    """Write to `path`; returns the number of bytes. Raises InputError: exists already, or cannot be written."""
    if name == "locust-csv":
        return _folder(path, locust_csv.render(events), force)
    return write(name, Timeline(events), path, force=force)


def write(name: str, timeline: Timeline, path: Path, *, force: bool) -> int:
    """Write from a timeline, which may still grow."""
    match name:
        case "md":
            files = markdown.beside(timeline, path.name)
        case "html":
            files = {path.name: _page(timeline)}
        case "json":
            files = {path.name: json.render(summarise(timeline))}
        case "csv":
            return _folder(path, csv.render(timeline), force)
        case "hgrm":
            return _folder(path, hgrm.render(timeline), force)
        case _:
            raise InputError(f"{name}: cannot be written from the screen; export the saved session")
    write_beside(path, files, force=force)
    return sum(map(len, files.values()))


def _page(timeline: Timeline) -> bytes:
    from . import html  # Jinja2: 0.05 s that the picker and the screen need not wait for

    return html.render(timeline)


def _folder(path: Path, files: Mapping[str, bytes], force: bool) -> int:
    if path.suffix in (".csv", ".hgrm"):
        raise InputError(f"{path}: this format writes several files; -o names a folder for them")
    write_folder(path, files, force=force)
    return sum(map(len, files.values()))

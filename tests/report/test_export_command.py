"""`capexplorer export`: what goes where, what is told, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from capexplorer import cli
from capexplorer.report.formats import FORMATS
from capexplorer.session.writer import SessionWriter

from .material import HEADER, session


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    writer = SessionWriter(folder / f"{HEADER.id}.jsonl")
    for event in session():
        writer.write(event)
    writer.close()
    return folder


def export(sessions: Path, *args: str | Path) -> int:
    return cli.run(["export", "last", "--sessions-dir", str(sessions), *map(str, args)])


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_is_written_and_says_nothing(
    form: str, sessions: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert export(sessions, "--format", form, "-o", tmp_path / "out") == 0
    assert (tmp_path / "out").is_dir() == (not FORMATS[form].suffix)
    assert capfdbinary.readouterr() == (b"", b"")


@pytest.mark.parametrize(
    ("form", "first"), [("md", b"# Capacity"), ("html", b"<!doctype html>"), ("csv", b"index,"), ("json", b"{")]
)
def test_stdout_has_the_same_and_stderr_what_is_missing(
    form: str, first: bytes, sessions: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert export(sessions, "--format", form) == 0
    out, err = capfdbinary.readouterr()
    assert out.startswith(first)
    assert err.count(b"\n") == (form in ("md", "csv"))
    assert export(sessions, "--format", form, "-o", "-") == 0
    assert capfdbinary.readouterr().out == out


def test_what_is_there_stays_without_force(sessions: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.md"
    path.write_text("mine")
    assert export(sessions, "--format", "md", "-o", path) == 2
    assert capfd.readouterr().err == f"capexplorer: {path}: exists already; --force overwrites it\n"
    assert path.read_text() == "mine" and not (tmp_path / "out-capacity.svg").exists()
    assert export(sessions, "--format", "md", "-o", path, "--force") == 0
    assert path.read_text() != "mine"


@pytest.mark.parametrize("form", FORMATS)
def test_a_missing_folder_is_one_line(form: str, sessions: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert export(sessions, "--format", form, "-o", tmp_path / "no" / "out") == 2
    assert capfd.readouterr().err == f"capexplorer: {tmp_path}/no/out: there is no folder {tmp_path}/no\n"


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_a_folder_that_takes_no_file_is_one_line(sessions: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert export(sessions, "-o", "/proc/self/x.json") == 2
    assert capfd.readouterr().err.startswith("capexplorer: /proc/self/x.json: cannot be written: ")


def test_redacted_json_is_the_same_document_without_names(sessions: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    documents = []
    for args in ((), ("--redact",)):
        assert export(sessions, *args) == 0
        documents.append(json.loads(capfdbinary.readouterr().out))
    plain, redacted = documents
    assert plain["levels"] == redacted["levels"] and plain.keys() == redacted.keys()
    assert plain["notes"] != redacted["notes"]

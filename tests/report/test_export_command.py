"""`capexplorer export` as a command: files and standard output, messages, and damaged logs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from kit.stacks import OF_STACKS

from capexplorer import cli
from capexplorer.report.formats import FORMATS
from capexplorer.session.codec import encode, sealed
from capexplorer.session.writer import SessionWriter

from .exported_sessions import HEADER, session


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """A folder with one recorded session."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    writer = SessionWriter(folder / f"{HEADER.id}.jsonl")
    for event in session():
        writer.write(event)
    writer.close()
    return folder


def export(sessions: Path, *args: str | Path) -> int:
    """The exit code of exporting the newest session."""
    return cli.run(["export", "last", "--sessions-dir", str(sessions), *map(str, args)])


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in OF_STACKS])
def test_each_format_is_written_without_a_message(
    form: str, sessions: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert export(sessions, "--format", form, "-o", tmp_path / "out") == 0
    assert (tmp_path / "out").is_dir() == (not FORMATS[form].suffix)
    assert capfdbinary.readouterr() == (b"", b"")


@pytest.mark.parametrize("form", OF_STACKS)
def test_a_format_of_stacks_refuses_a_session_without_any(form: str, sessions: Path, tmp_path: Path) -> None:
    assert export(sessions, "--format", form, "-o", tmp_path / "out") == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("form", "first"), [("md", b"# Capacity"), ("html", b"<!doctype html>"), ("csv", b"index,"), ("json", b"{")]
)
def test_stdout_has_the_export_and_stderr_names_files_that_are_left_out(
    form: str, first: bytes, sessions: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert export(sessions, "--format", form) == 0
    out, err = capfdbinary.readouterr()
    assert out.startswith(first)
    assert err.count(b"\n") == (form in ("md", "csv")), "the picture or the other tables are left out"
    assert export(sessions, "--format", form, "-o", "-") == 0
    assert capfdbinary.readouterr().out == out


def test_an_existing_file_is_not_overwritten_without_force(
    sessions: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.md"
    path.write_text("mine")
    assert export(sessions, "--format", "md", "-o", path) == 2
    assert capfd.readouterr().err == f"capexplorer: {path}: exists already; --force overwrites it\n"
    assert path.read_text() == "mine"
    assert not (tmp_path / "out-capacity.svg").exists()
    assert export(sessions, "--format", "md", "-o", path, "--force") == 0
    assert path.read_text() != "mine"


def test_a_page_with_the_url_of_a_picture_has_the_picture_beside_it(
    sessions: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ("--format", "summary", "--picture-url", "https://example.org/x.svg")
    assert export(sessions, *given, "-o", tmp_path / "page.md") == 0
    assert "](https://example.org/x.svg)" in (tmp_path / "page.md").read_text()
    assert (tmp_path / "page-capacity.svg").read_text().startswith("<svg")
    for refused in (given, (*given, "-o", "-"), ("--format", "md", *given[2:], "-o", tmp_path / "other.md")):
        assert export(sessions, *refused) == 2
        assert capfd.readouterr().err == "capexplorer: --picture-url: needs --format summary and -o FILE\n"


def test_a_missing_folder_is_an_error_in_one_line(sessions: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert export(sessions, "-o", tmp_path / "no" / "out") == 2
    assert capfd.readouterr().err == f"capexplorer: {tmp_path}/no/out: there is no folder {tmp_path}/no\n"


def test_redacted_json_is_the_same_document_without_names(sessions: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    documents = []
    for args in ((), ("--redact",)):
        assert export(sessions, *args) == 0
        documents.append(json.loads(capfdbinary.readouterr().out))
    plain, redacted = documents
    assert plain["levels"] == redacted["levels"]
    assert plain.keys() == redacted.keys()
    assert plain["notes"] != redacted["notes"]


# -- damaged logs


def log_path(sessions: Path) -> Path:
    return sessions / f"{HEADER.id}.jsonl"


def test_a_line_with_a_wrong_checksum_is_skipped_and_reported(sessions: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = log_path(sessions)
    lines = log.read_bytes().splitlines(keepends=True)
    number = max(number for number, line in enumerate(lines) if line.startswith(b'{"type":"level_closed"'))
    lines[number] = lines[number].replace(b'"requests":', b'"requests":1', 1)
    log.write_bytes(b"".join(lines))
    assert export(sessions) == 0
    assert f"capexplorer: {log}: line {number + 1}: skipped: damaged: its checksum is " in capfd.readouterr().err


def test_a_damaged_header_is_an_error_in_one_line(sessions: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = log_path(sessions)
    log.write_bytes(log.read_bytes().replace(b'"cpus":2', b'"cpus":9', 1))
    for command in ("export", "compare", "replay"):
        assert cli.run([command, str(log)]) == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert "line 1, its header, is damaged" in err


def test_a_named_pipe_is_an_error_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    for command in ("export", "compare", "replay"):
        assert cli.run([command, str(pipe)]) == 2
        assert capfd.readouterr() == ("", f"capexplorer: {pipe}: not a regular file\n")


def test_an_invalid_histogram_with_a_valid_checksum_is_left_out_of_the_export(sessions: Path, tmp_path: Path) -> None:
    log = log_path(sessions)
    lines = [encode(event).replace(b'"latency":"HISTF', b'"latency":"HITSF') for event in session()]
    log.write_bytes(b"".join(sealed(line, number) + b"\n" for number, line in enumerate(lines, start=1)))
    assert export(sessions, "--format", "locust-csv", "-o", tmp_path / "locust") == 0
    assert export(sessions, "--format", "hgrm", "-o", tmp_path / "hgrm") == 2

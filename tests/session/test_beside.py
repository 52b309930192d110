"""Files next to a log: its title, its digest, the requests that are kept; and how a session is deleted."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from kit.scenario import HEADER, log_lines
from marked import marked

from capexplorer import cli
from capexplorer.errors import SessionError
from capexplorer.model.events import Event, LevelClosed, Mark, Note
from capexplorer.model.figures import LevelFigures
from capexplorer.model.kept_request import Body, KeptRequest, RequestBrief
from capexplorer.session import beside, files, redact
from capexplorer.session.beside import digest_of
from capexplorer.session.catalog import RECORDED_WITHIN_S, being_recorded, delete
from capexplorer.session.redact_request import without_secrets
from capexplorer.session.writer import SessionWriter

from .samples import ONE_OF_EACH


def save(folder: Path, *events: Event) -> Path:
    path = folder / "a.jsonl"
    writer = SessionWriter(path)
    for event in (HEADER, *events):
        writer.write(event)
    writer.close()
    return path


def closed(goodput_rps: float | None, users: int = 10) -> LevelClosed:
    figures = LevelFigures(settled=goodput_rps is not None, goodput_rps=goodput_rps)
    return LevelClosed(t_s=1.0, index=0, users=users, started_s=0.0, figures=figures)


def mark(key: str, state: str = "open", revision: int = 1) -> Mark:
    return marked(t_s=1.0, key=key, revision=revision, state=state, kind="cause", id="refused")


# -- titles


def test_a_title_is_stored_in_its_own_file_and_the_log_is_unchanged(tmp_path: Path) -> None:
    path = save(tmp_path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert files.read_title(path) is None
    files.write_title(path, "  before\nthe fix ✂ ")
    assert files.read_title(path) == "before the fix ✂"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    files.write_title(path, " ")
    assert files.read_title(path) is None
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_a_title_is_bounded_and_an_unreadable_one_gives_none(tmp_path: Path) -> None:
    path = save(tmp_path)
    files.write_title(path, "x" * 1000)
    assert files.read_title(path) == "x" * files.LONGEST
    files.title_path(path).write_bytes(b"\xff\xfe\n\n")
    assert files.read_title(path) == "\N{REPLACEMENT CHARACTER}" * 2
    files.title_path(path).unlink()
    files.title_path(path).mkdir()
    assert files.read_title(path) is None
    with pytest.raises(SessionError, match="the title cannot be saved"):
        files.write_title(path, "t")


# -- digests


def judge(log: Path) -> tuple[str | None, float | None]:
    return f"Knee of {log.stem}.", 23.0


def test_a_digest_has_the_best_goodput_and_counts_marks_that_are_not_retracted(tmp_path: Path) -> None:
    path = save(
        tmp_path, closed(40.0), mark("a"), mark("b"), closed(90.0), closed(None), closed(900.0, users=0),
        mark("b", "retracted", 2), mark("a", "updated", 2), Note(t_s=2.0, text='{"type":"mark","key":"c"}'), closed(70.0),
    )  # fmt: skip
    found = digest_of(path, judge)
    assert (found.best_goodput_rps, found.marks) == (90.0, 1)
    assert (found.verdict, found.knee_users) == (f"Knee of {path.stem}.", 23.0)


def test_a_session_without_levels_has_no_best_goodput(tmp_path: Path) -> None:
    assert digest_of(save(tmp_path), judge).best_goodput_rps is None


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 4096])
def test_lines_are_found_for_any_read_size(piece_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path, closed(40.0), *ONE_OF_EACH[1:6], mark("a"), closed(90.0))
    monkeypatch.setattr(beside, "_PART_BYTES", piece_bytes)
    found = digest_of(path, judge)
    assert (found.best_goodput_rps, found.marks) == (90.0, 1)


def test_a_digest_is_kept_until_the_log_changes(tmp_path: Path) -> None:
    path = save(tmp_path, closed(40.0))
    first = digest_of(path, judge)
    beside.digest_path(path).write_bytes(beside.digest_path(path).read_bytes().replace(b"40.0", b"41.0"))
    assert digest_of(path, judge).best_goodput_rps == 41.0
    with path.open("ab") as file:
        file.write(log_lines([mark("a")], first=3)[0] + b'{"type":"mark","key":"torn')
    assert (digest_of(path, judge).best_goodput_rps, digest_of(path, judge).marks) == (40.0, 1)
    assert first.marks == 0


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b'{"version":99,"size_bytes":1,"changed_ns":1}', b"\xff"])
def test_a_digest_that_is_damaged_is_made_again(kept: bytes, tmp_path: Path) -> None:
    path = save(tmp_path, closed(40.0))
    beside.digest_path(path).write_bytes(kept)
    assert digest_of(path, judge).best_goodput_rps == 40.0


def test_a_log_that_grew_while_it_was_judged_is_judged_again(tmp_path: Path) -> None:
    path = save(tmp_path, closed(40.0))

    def judge_a_log_that_grows(log: Path) -> tuple[str | None, float | None]:
        with log.open("ab") as file:
            file.write(b"\n")
        return "Not enough levels to find a knee.", None

    digest_of(path, judge_a_log_that_grows)
    assert digest_of(path, judge).verdict == "Knee of a."


def test_a_digest_that_cannot_be_written_gives_no_error(tmp_path: Path) -> None:
    path = save(tmp_path, closed(40.0))
    beside.digest_path(path).mkdir()
    assert digest_of(path, judge).best_goodput_rps == 40.0
    assert sorted(os.listdir(tmp_path))[-2:] == ["a.digest", "a.jsonl"]


# -- deleting


def test_deleting_removes_the_log_and_its_files_and_nothing_else(tmp_path: Path) -> None:
    path = save(tmp_path, *ONE_OF_EACH[1:])
    files.write_title(path, "t")
    digest_of(path, judge)
    for name in ("a.md", "ab.jsonl", "a.b.jsonl"):
        (tmp_path / name).write_text("kept")
    delete(path)
    assert sorted(os.listdir(tmp_path)) == ["a.b.jsonl", "a.md", "ab.jsonl"]
    with pytest.raises(SessionError, match="no such session"):
        delete(path)


def test_a_session_that_is_being_recorded_is_not_deleted(tmp_path: Path) -> None:
    path = save(tmp_path, closed(40.0))
    now_s = path.stat().st_mtime
    with pytest.raises(SessionError, match="is being recorded"):
        delete(path, now_s=now_s + RECORDED_WITHIN_S / 2)
    assert path.exists()
    assert not being_recorded(path, complete=True, now_s=now_s)
    delete(path, now_s=now_s + 2 * RECORDED_WITHIN_S)
    assert not path.exists()


def test_a_log_that_cannot_be_opened_can_be_deleted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"nonsense")
    delete(path, now_s=path.stat().st_mtime + 60)
    assert os.listdir(tmp_path) == []


# -- damage, and files of other programs


def test_a_damaged_line_is_counted_and_gives_no_figure(tmp_path: Path) -> None:
    path = save(tmp_path, closed(40.0), closed(41.0), mark("cause:1"), mark("cause:2"))
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"goodput_rps":41.0', b'"goodput_rps":91.0'))
    found = digest_of(path, judge)
    assert (found.best_goodput_rps, found.marks, found.damaged_lines) == (40.0, 2, 1)
    lines = content.splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[1], *lines[3:]]))
    found = digest_of(path, judge)
    assert (found.best_goodput_rps, found.marks, found.damaged_lines) == (40.0, 2, 1)


def test_a_last_line_that_is_cut_off_is_not_damage(tmp_path: Path) -> None:
    path = save(tmp_path, closed(40.0))
    with path.open("ab") as file:
        file.write(b'{"type":"sample","t_s":9')
    assert digest_of(path, judge).damaged_lines == 0


def test_the_list_says_that_lines_are_damaged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path, closed(40.0), closed(41.0))
    path.write_bytes(path.read_bytes().replace(b'"goodput_rps":41.0', b'"goodput_rps":91.0'))
    assert cli.run(["sessions", "--sessions-dir", str(tmp_path)]) == 0
    assert "1 damaged line" in capfd.readouterr().out
    assert cli.run(["sessions", "--json", "--sessions-dir", str(tmp_path)]) == 0
    assert json.loads(capfd.readouterr().out)[0]["damaged_lines"] == 1


@pytest.mark.parametrize("beside", [files.title_path, beside.digest_path])
def test_a_named_pipe_beside_a_log_is_never_waited_for(tmp_path: Path, beside: Callable[[Path], Path]) -> None:
    path = save(tmp_path, closed(40.0))
    os.mkfifo(beside(path))
    assert files.read_title(path) is None
    assert digest_of(path, judge).best_goodput_rps == 40.0
    files.write_title(path, "a title")
    assert files.read_title(path) == "a title"


def test_files_beside_a_log_are_private_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        files.make_folder(tmp_path / "sessions")
        path = save(tmp_path / "sessions")
        files.write_title(path, "a title")
        digest_of(path, judge)
    finally:
        os.umask(before)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in (path.parent, *path.parent.iterdir())}
    assert modes == {"sessions": 0o700, "a.jsonl": 0o600, "a.title": 0o600, "a.digest": 0o600}


TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2ln"


def request(number: int = 1, **parts: object) -> KeptRequest:
    return KeptRequest(brief=RequestBrief(number=number, t_s=float(number), method="GET", name="/a"), **parts)  # type: ignore[arg-type]


def test_written_requests_are_read_in_order_and_the_file_is_private(tmp_path: Path) -> None:
    written = [request(1, received=Body(text="busy \N{SNOWMAN}")), request(2, headers=(("A", "b"),))]
    path = beside.write(tmp_path / "x.jsonl", written)
    assert (path.name, stat.S_IMODE(path.stat().st_mode)) == ("x.requests", 0o600)
    found = beside.RequestsFile(path)
    assert [found.request(brief.number) for brief in found.briefs()] == written


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}\n", b'{"type":"header","schema":2}\n', b"[" * 100_000])
def test_another_file_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.requests"
    path.write_bytes(content)
    with pytest.raises(SessionError, match=r"x\.requests: not a file of kept requests") as refused:
        beside.RequestsFile(path)
    assert "\n" not in str(refused.value)


def test_a_newer_schema_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.requests"
    path.write_bytes(b'{"type":"requests","schema":99,"session":"x"}\n')
    with pytest.raises(SessionError, match="schema 99"):
        beside.RequestsFile(path)


BODIES = {
    "json": '{"user": "ann", "pass": "hunter22", "nested": {"access_token": "hunter22"}}',
    "json cut off": '{"user": "ann", "password": "hunter22 is lo',
    "cut within a token": f"x y {TOKEN[:20]}",
    "form": "user=ann&password=hunter22&next=1",
    "xml": "<login><user>ann</user><password>hunter22</password></login>",
    "multipart": '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter22\r\n--b--',
    "a known value": "the tenant-4711-xyz of ann",
}


@pytest.mark.parametrize("kind", BODIES)
def test_secrets_are_removed_from_bodies_of_every_kind(kind: str) -> None:
    redact.remember({"TENANT": "tenant-4711-xyz"})
    body = Body(text=BODIES[kind], size_bytes=9_999, is_cut="cut" in kind)
    clean = without_secrets(request(sent=body, received=body))
    redact.remember({})
    for text in (clean.sent.text, clean.received.text):
        assert not any(secret in text for secret in ("hunter", "tenant-4711", TOKEN[:20]))


def test_secrets_are_removed_from_headers_urls_and_errors() -> None:
    headers = (("Authorization", "Basic YW5uOmh1bnRlcg=="), ("Cookie", "sid=1"), ("X-Api-Key", "k"), ("Accept", "*/*"))
    brief = RequestBrief(error=f"refused {TOKEN}", name="/a?token=abc")
    found = without_secrets(
        KeptRequest(brief=brief, url="http://ann:pw@h/a?token=abc&x=1", sent_headers=headers, headers=headers)
    )
    assert found.sent_headers == found.headers == (*((name, "***") for name, _ in headers[:3]), headers[3])
    assert found.url == "http://***@h/a?token=***&x=1"
    assert TOKEN not in found.brief.error and found.brief.name == "/a?token=***"

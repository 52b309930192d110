"""The file of kept requests next to a log: private, complete, without secrets; other files are refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from capexplorer.errors import SessionError
from capexplorer.model.kept_request import Body, KeptRequest, RequestBrief
from capexplorer.session import beside, redact
from capexplorer.session.redact_request import without_secrets

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

"""The line of a reply with a server error that is quoted: bounded, folded, and without any part of a secret."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from capexplorer.load.signature import LENGTH_MOST, first_line, full_text, signature_of
from capexplorer.session.redact import text as redacted


@dataclass
class Reply:
    """A reply of the library requests: `_content` is False until the body was read."""

    _content: bytes | bool
    status_code: int = 500


class HTTPError(Exception):
    """As `raise_for_status` of requests raises."""

    def __init__(self, text: str, response: Reply) -> None:
        super().__init__(text)
        self.response = response


class CatchResponseError(Exception):
    """Recognised by its name, which is that of Locust's exception."""


def quoted(body: bytes | bool, status: int = 500) -> str:
    return first_line(Reply(body, status))


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"FATAL: sorry, too many clients already\nDETAIL: 97 of 97", "FATAL: sorry, too many clients already"),
        (b'{\n  "error": "pool timeout"\n}', '"error": "pool timeout"'),
        (b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>", "502 Bad Gateway"),
        (b"<style>body { color: red }</style><h1>Out of workers</h1>", "Out of workers"),
        (b"", ""),
        (b"\x00\x01\x02 42 --", ""),
        (b"\xff\xfe broken \xf0", "\ufffd\ufffd broken \ufffd"),
    ],
)
def test_the_first_line_with_words_of_a_body_is_quoted(body: bytes, line: str) -> None:
    assert quoted(body) == line


def test_only_bodies_of_server_errors_that_were_read_are_quoted() -> None:
    assert quoted(b"no such item", 404) == ""
    assert quoted(b"slow down", 429) == ""
    assert quoted(False) == ""
    assert first_line(None) == ""


def test_the_quoted_line_is_bounded_and_ends_with_a_word() -> None:
    line = quoted(b"too many clients " * 1_000)
    assert len(line) <= LENGTH_MOST
    assert line.split()[-1] in ("too", "many", "clients")


SECRETS = ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2ln", "hunter2hunter")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("before", [0, 60, 100, 105, 110, 118])
def test_no_part_of_a_secret_is_left_wherever_the_line_is_cut(secret: str, before: int) -> None:
    body = "x " * (before // 2) + f'error, "password": "{secret} {secret}" token={secret} Bearer {secret}'
    line = redacted(signature_of(HTTPError("500 Server Error", Reply(body.encode())), None).text)
    assert [secret[at : at + 6] for at in range(0, len(secret) - 6, 6) if secret[at : at + 6] in line] == []


def test_numbers_and_ids_are_folded() -> None:
    bodies = [f"request 4f9a{n:08x}7b21: pool of {n} connections is exhausted after {n}.5 s".encode() for n in range(1, 50)]
    assert len({signature_of(HTTPError("500 Server Error", Reply(body)), None) for body in bodies}) == 1


def test_the_quoted_line_is_part_of_the_failure_and_of_its_example() -> None:
    reply = Reply(b"sorry, too many clients already (97)")
    error = HTTPError("500 Server Error: Busy for url: http://db:80/x?token=abc", reply)
    assert signature_of(error, None).text == "500 Server Error: Busy: sorry, too many clients already (#)"
    assert full_text(error, None).endswith(": sorry, too many clients already (97)")
    assert "token" not in full_text(error, None)


@pytest.mark.parametrize(
    ("status", "body", "shown"),
    [
        (503, b"upstream pool exhausted", "503: upstream pool exhausted"),
        (503, b'{"status": 503, "error": "upstream pool exhausted", "trace": "x"}', "503: upstream pool exhausted"),
        (429, b"<h1>slow down</h1>", "429: slow down"),
        (422, b'{"detail": [{"loc": ["body", "id"], "msg": "field required"}]}', "422: field required"),
        (404, b"", "404 Client Error"),
    ],
)
def test_the_example_of_an_error_is_its_status_and_the_message_of_its_body(status: int, body: bytes, shown: str) -> None:
    error = HTTPError(f"{status} {'Server' if status >= 500 else 'Client'} Error", Reply(body, status))
    assert full_text(error, None) == shown


def test_the_body_follows_the_name_of_a_check_without_a_message() -> None:
    assert full_text(CatchResponseError("unexpected_status"), Reply(b"slow down", 429)) == "unexpected_status: 429: slow down"
    assert full_text(CatchResponseError("slow down now"), Reply(b"slow down now", 429)) == "slow down now"


def test_the_message_of_a_users_own_check_is_not_extended() -> None:
    error = CatchResponseError("lost_updates: expected 90, read 60")
    assert signature_of(error, Reply(b"too many clients")).text == "lost_updates"
    assert "clients" not in full_text(error, Reply(b"too many clients"))

"""curl commands in, requests out; and commands that are refused in one line."""

from __future__ import annotations

import pytest

from capexplorer.drafting import curl
from capexplorer.drafting.request_tasks import Request
from capexplorer.errors import InputError

HERE = "http://127.0.0.1:8000"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": curl.FORM}

COMMANDS = {
    "a URL": (f"curl {HERE}/items?page=2", Request("GET", "/items?page=2", HERE)),
    "a URL without a scheme or a path": ("curl 127.0.0.1:8000", Request("GET", "/", HERE)),
    "options that change no request": (f"curl -sSkL --compressed -o out -m 5 {HERE}/", Request("GET", "/", HERE)),
    "data makes a POST": (f"curl -d a=1 -d b=2 {HERE}/f", Request("POST", "/f", HERE, FORM, "a=1&b=2")),
    "encoded data": (f"curl --data-urlencode 'q=a b&c' {HERE}/f", Request("POST", "/f", HERE, FORM, "q=a+b%26c")),
    "data in the query": (f"curl -G -d a=1 {HERE}/f?b=2", Request("GET", "/f?b=2&a=1", HERE)),
    "a method and a body": (f"curl -X PUT {HERE}/o -H 'Content-Type: application/json' --data-raw '{{\"a\": 1}}'",
     Request("PUT", "/o", HERE, JSON, '{"a": 1}')),
    "JSON": (f"curl --json '[1]' {HERE}/o", Request("POST", "/o", HERE, JSON, "[1]")),
    "HEAD": (f"curl -I {HERE}/", Request("HEAD", "/", HERE)),
    "several lines": (f"curl '{HERE}/x' \\\n  -H 'A: b' \\\n  --compressed", Request("GET", "/x", HERE, {"A": "b"})),
    "quotes as browsers write them": (f"curl {HERE}/ -H $'A: it\\'s\\u0021'", Request("GET", "/", HERE, {"A": "it's!"})),
    "user and password": (f"curl -u me:pw {HERE}/", Request("GET", "/", HERE, {"Authorization": "Basic bWU6cHc="})),
    "cookies": (f"curl -b sid=1 {HERE}/", Request("GET", "/", HERE, {"Cookie": "sid=1"})),
    "headers that depend on the connection are left out": (
        f"curl {HERE}/ -H 'Accept: */*' -H 'If-None-Match: x' -H 'sec-fetch-mode: cors' -H 'Connection: close'",
        Request("GET", "/", HERE, {"Accept": "*/*"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), COMMANDS.values(), ids=COMMANDS)
def test_a_curl_command_becomes_the_request_that_curl_would_send(command: str, expected: Request) -> None:
    assert curl.is_curl(command)
    assert curl.parse(command, "request") == expected


REFUSED = {
    "no URL": ("curl -s", "request: curl: expected one URL, got 0"),
    "two URLs": ("curl /a /b", "request: curl: expected one URL, got 2"),
    "an open quote": ("curl 'http://x", "request: curl: no closing quotation"),
    "a form with files": (f"curl -F file=@x {HERE}/", "request: curl: cannot be used for a profile: -F"),
    "data of a file": (f"curl -d @body.json {HERE}/",
     "request: curl: expected the data itself, got the name of a file: '@body.json'"),
    "cookies of a file": (f"curl -b jar.txt {HERE}/", "request: curl: -b: expected NAME=VALUE"),
    "a header without a colon": (f"curl -H Accept {HERE}/", "request: curl: -H: expected NAME: VALUE, got 'Accept'"),
    "an unknown method": (f"curl -X FETCH {HERE}/", "request: method: "),
    "another scheme": ("curl ftp://127.0.0.1/x", "request: URL: expected a path that starts with /, or http://HOST"),
    "a password in the URL": ("curl http://me:pw@127.0.0.1/", "request: URL: expected no user or password in it"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "message"), REFUSED.values(), ids=REFUSED)
def test_a_curl_command_that_a_profile_cannot_express_is_refused_in_one_line(command: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        curl.parse(command, "request")
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)

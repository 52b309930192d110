"""Requests as a person gives them: paths, URLs, and files in HAR, OpenAPI (JSON and YAML) or of curl commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capexplorer.drafting.reading import REQUESTS_MOST, read
from capexplorer.drafting.request_tasks import Request
from capexplorer.errors import InputError

HERE = "http://127.0.0.1:8000"


def entry(method: str, url: str, headers: dict[str, str] | None = None, body: str | None = None) -> dict[str, Any]:
    request: dict[str, Any] = {"method": method, "url": url}
    request["headers"] = [{"name": name, "value": value} for name, value in (headers or {}).items()]
    if body is not None:
        request["postData"] = {"mimeType": "text/plain", "text": body}
    return {"request": request, "response": {"status": 200}}


HAR = {
    "log": {
        "entries": [
            entry("GET", f"{HERE}/items?page=1", {":authority": "x", "Accept": "*/*", "User-Agent": "Firefox"}),
            entry("GET", "http://cdn.example/logo.png"),
            entry("GET", f"{HERE}/items?page=1", {"Accept": "*/*"}),
            entry("POST", f"{HERE}/orders", {"Content-Type": "text/plain"}, "7"),
        ]
    }
}
REQUESTS_OF_HAR = [
    Request("GET", "/items?page=1", HERE, {"Accept": "*/*"}, weight=2),
    Request("POST", "/orders", HERE, {"Content-Type": "text/plain"}, "7"),
]
OPENAPI = """\
openapi: 3.0.0
servers: [{url: "https://api.example/v1"}]
components:
  parameters:
    Id: {name: id, in: path, required: true, schema: {type: integer}}
paths:
  /items:
    get:
      parameters:
        - {name: page, in: query, schema: {type: integer, default: 3}}
        - {name: sort, in: query, schema: {type: string}}
        - {name: kind, in: query, required: true, schema: {enum: [new, old]}}
    post: {}
  /items/{id}:
    parameters: [{$ref: '#/components/parameters/Id'}]
    get: {}
    delete: {}
"""
REQUESTS_OF_OPENAPI = [Request("GET", "/v1/items?page=3&kind=new"), Request("GET", "/v1/items/1")]


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('POST /orders {"item": 1}', Request("POST", "/orders", None, {"Content-Type": "application/json"}, '{"item": 1}')),
        ("put /orders/1 [1, 2]", Request("PUT", "/orders/1", None, {"Content-Type": "application/json"}, "[1, 2]")),
        ("/orders item=1&count=2", Request("POST", "/orders", None, {"Content-Type": FORM}, "item=1&count=2")),
        (f"{HERE}/orders {{}}", Request("POST", "/orders", HERE, {"Content-Type": "application/json"}, "{}")),
    ],
)
def test_a_path_may_have_a_body_of_json_or_of_a_form(text: str, expected: Request) -> None:
    assert read(text, "--request").requests == [expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("POST /orders {item: 1}", "--request: body: expected JSON, since it begins with {: "),
        ("POST /orders item", "--request: body: expected JSON such as"),
    ],
)
def test_a_body_that_is_neither_json_nor_a_form_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(text, "--request")
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/items?page=2", Request("GET", "/items?page=2")),
        ("DELETE /items/7", Request("DELETE", "/items/7")),
        (f"{HERE}/x", Request("GET", "/x", HERE)),
        (f"POST {HERE}/x", Request("POST", "/x", HERE)),
    ],
)
def test_a_path_and_a_url_are_requests(text: str, expected: Request) -> None:
    assert read(text, "--request").requests == [expected]


@pytest.mark.parametrize("origin", [None, HERE])
def test_a_har_gives_the_requests_to_one_service_with_their_number_as_weight(tmp_path: Path, origin: str | None) -> None:
    (path := tmp_path / "shop.har").write_text(json.dumps(HAR))
    assert read(str(path), "--request", origin).requests == REQUESTS_OF_HAR


def test_openapi_gives_each_get_with_its_examples_and_names_what_is_left_out(tmp_path: Path) -> None:
    (path := tmp_path / "api.yaml").write_text(OPENAPI)
    found = read(str(path), "--request")
    assert found.requests == REQUESTS_OF_OPENAPI
    assert found.left_out == ["POST /items", "DELETE /items/{id}"]


def test_swagger_in_json_has_its_base_path(tmp_path: Path) -> None:
    (path := tmp_path / "api.json").write_text(json.dumps({"swagger": "2.0", "basePath": "/v2", "paths": {"/a": {"get": {}}}}))
    assert read(str(path), "--request").requests == [Request("GET", "/v2/a")]


def test_a_file_of_curl_commands_has_one_request_each(tmp_path: Path) -> None:
    (path := tmp_path / "calls.sh").write_text(f"curl {HERE}/a \\\n  -s\ncurl -X POST {HERE}/b\n")
    assert read(str(path), "--request").requests == [Request("GET", "/a", HERE), Request("POST", "/b", HERE)]


def test_requests_beyond_the_maximum_are_listed_as_left_out(tmp_path: Path) -> None:
    entries = [entry("GET", f"{HERE}/{number}") for number in range(REQUESTS_MOST + 1)]
    (path := tmp_path / "many.har").write_text(json.dumps({"log": {"entries": entries}}))
    found = read(str(path), "--request")
    assert len(found.requests) == REQUESTS_MOST
    assert found.left_out == [f"GET /{REQUESTS_MOST}"]


REFUSED = {
    "no file": (None, "gone.har", "--request: expected a path that starts with /, METHOD /PATH [BODY], a curl command"),
    "not JSON": ("{", "x.har", "x.har: not valid JSON: "),
    "not YAML": ("a: [", "x.yaml", "x.yaml: not valid YAML: "),
    "other JSON": ('{"a": 1}', "x.json", "x.json: expected a HAR file (key `log`), an OpenAPI file (key `openapi`) or curl"),
    "a HAR without entries": (
        '{"log": {}}',
        "x.har",
        "x.har: not a HAR file: object missing required field `entries` - at `$.log`",
    ),
    "an empty HAR": ('{"log": {"entries": []}}', "x.har", "x.har: log.entries: expected at least one request, got none"),
    "a HAR with an odd method": (
        json.dumps({"log": {"entries": [entry("BREW", f"{HERE}/")]}}),
        "x.har",
        "x.har: log.entries[0].request: method: ",
    ),
    "OpenAPI without paths": ('{"openapi": "3.1.0"}', "x.json", "x.json: paths: expected a table of paths"),
    "OpenAPI without a GET": (
        '{"openapi": "3.1.0", "paths": {"/a": {"post": {}}}}',
        "x.json",
        "x.json: paths: expected at least one path with `get`, got none",
    ),
    "curl commands with an error": ("curl -s\n", "calls.sh", "calls.sh: command 1: curl: expected one URL, got 0"),
}


@pytest.mark.parametrize(("content", "name", "message"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_holds_no_requests_is_refused_in_one_line(
    content: str | None, name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_text(content)
    with pytest.raises(InputError) as refused:
        read(name, "--request")
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_a_har_of_another_service_is_refused_with_the_url_of_that_service(tmp_path: Path) -> None:
    (path := tmp_path / "shop.har").write_text(json.dumps(HAR))
    with pytest.raises(InputError, match=r"log\.entries: expected requests to http://127\.0\.0\.1:9, got requests to http"):
        read(str(path), "--request", "http://127.0.0.1:9")

"""Secrets are removed from texts, commands and values before they are written to the log."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from kit.scenario import HEADER
from requests import HTTPError, Response

from capexplorer.load.signature import signature_of
from capexplorer.model.events import Command, EndpointTick, FailureSignature, FailureTick, Log, Sample, TargetFacts
from capexplorer.session import redact
from capexplorer.session.canonical import canonical
from capexplorer.session.codec import encode

from .secrets import COMMANDS, SECRETS

SECRET = "hunter2-S3cr3t"


@pytest.mark.parametrize(
    ("text", "without"),
    [
        (f"http://user:{SECRET}@host:80/x", "http://***@host:80/x"),
        (f"postgres://{SECRET}@db/name", "postgres://***@db/name"),
        (f"http://{SECRET}@127.0.0.1:80", "http://***@127.0.0.1:80"),
        (f"http://u:p@{SECRET}@host/", "http://***@host/"),
        (f"GET /x?token={SECRET}&page=2", "GET /x?token=***&page=2"),
        (f"/x?page=2&api_key={SECRET}", "/x?page=2&api_key=***"),
        (f"/x?accessToken={SECRET}#top", "/x?accessToken=***#top"),
        (f"/x?X-Amz-Signature={SECRET}&b=1", "/x?X-Amz-Signature=***&b=1"),
        (f"/x?user[password]={SECRET}&b=1", "/x?user[password]=***&b=1"),
        (f"/x;PHPSESSID={SECRET}?a=1", None),
        (f"Authorization: Bearer {SECRET}", "Authorization: ***"),
        (f"authorization:Basic {SECRET}==\r\nHost: x", "authorization:***\r\nHost: x"),
        (f"Cookie: a={SECRET}; b=2\nAccept: */*", "Cookie: ***\nAccept: */*"),
        (f"Set-Cookie: sid={SECRET}; Path=/", "Set-Cookie: ***"),
        (f"X-Api-Key: {SECRET}", "X-Api-Key: ***"),
        (f"{{'Authorization': 'Bearer {SECRET}', 'Accept': 'x'}}", "{'Authorization': '***', 'Accept': 'x'}"),
        (f"[(b'authorization', b'Bearer {SECRET}')]", None),
        (f'{{"user": "me", "password": "{SECRET}"}}', '{"user": "me", "password": "***"}'),
        (f"refused Bearer {SECRET} at once", "refused Bearer *** at once"),
        (f"curl -H 'Authorization: Bearer {SECRET}' http://x", "curl -H 'Authorization: ***' http://x"),
        (f"serve --password {SECRET} --port 80", "serve --password *** --port 80"),
        (f"DB_PASSWORD={SECRET} serve", "DB_PASSWORD=*** serve"),
        (f"client_secret='{SECRET}'", "client_secret='***'"),
    ],
)
def test_a_secret_in_a_text_is_taken_out(text: str, without: str | None) -> None:
    cleaned = redact.text(text)
    assert SECRET not in cleaned
    assert without is None or cleaned == without
    assert redact.text(cleaned) == cleaned


@pytest.mark.parametrize(("text", "secrets"), SECRETS.values(), ids=SECRETS)
def test_every_kind_of_secret_is_taken_out(text: str, secrets: tuple[str, ...]) -> None:
    cleaned = redact.text(text)
    assert [secret for secret in secrets if secret in cleaned] == []
    assert redact.HIDDEN in cleaned and redact.text(cleaned) == cleaned


@pytest.mark.parametrize(("arguments", "secrets"), COMMANDS.values(), ids=COMMANDS)
def test_every_kind_of_secret_is_taken_out_of_a_command(arguments: tuple[str, ...], secrets: tuple[str, ...]) -> None:
    cleaned = " ".join(redact.command(arguments))
    assert [secret for secret in secrets if secret in cleaned] == []
    assert cleaned.startswith(arguments[0])


@pytest.mark.parametrize(
    "text",
    [
        "GET /io?size=10&sort=name",
        "digest 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
        "max retries exceeded with url: /a (Caused by NewConnectionError(': [Errno 111] refused'))",
        "token: expected a name",
        "https://127.0.0.1:8080/@me/x",
        "at 12:30:15 p95 rose to 3, users 5",
        "cookie jar is empty",
        "ConnectionRefusedError(111, 'Connection refused')",
        "session: not found",
        "see https://example.org/a@b and mail me@example.org",
        "author=Ann keyboard=qwerty monkeys=3 max_tokens=100",
        "basic understanding of bearer shares",
        "10:20s,50:20s",
        "exit code=1, status code: 500",
        '{"code": "insufficient_stock", "status_code": 409}',
        '{"code": 40401}',
        "ssh -p 2222 ann@db, serve -p8080",
        "nginx -p /srv/shop -c nginx.conf",
        'expected name: "value" in <Response status="x">text</Response>',
        "token: expected a name",
    ],
)
def test_a_text_without_secrets_is_unchanged(text: str) -> None:
    assert redact.text(text) == text


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "x-api-key", "accessToken", "API_KEY", "--password", "sid", "JWT"])
def test_names_of_secrets_are_known(name: str) -> None:
    assert redact.is_secret_name(name)


@pytest.mark.parametrize("name", ["author", "keep_alive", "threads", "monkey", "signal", "path", "design", "tokenizer", "users"])
def test_names_of_other_things_are_not_taken_for_secrets(name: str) -> None:
    assert not redact.is_secret_name(name)


def test_nested_values_under_a_secret_name_are_removed() -> None:
    assert redact.nested(
        {
            "headers": {"Authorization": f"Bearer {SECRET}", "Accept": "*/*"},
            "json": [{"password": 1234, "user": "me", "enabled": True}],
            "cookies": {"auth": {"deep": [SECRET, None]}},
            "url": f"http://a:{SECRET}@b/?x=1",
        }
    ) == {
        "headers": {"Authorization": "***", "Accept": "*/*"},
        "json": [{"password": "***", "user": "me", "enabled": True}],
        "cookies": {"auth": {"deep": ["***", None]}},
        "url": "http://***@b/?x=1",
    }


def test_a_command_line_loses_the_argument_after_a_secret_option() -> None:
    given = ("serve", "--token", SECRET, f"--db=postgres://a:{SECRET}@h/", f"--api-key={SECRET}", "--port", "80")
    assert redact.command(given) == ("serve", "--token", "***", "--db=postgres://***@h/", "--api-key=***", "--port", "80")


def test_no_secret_is_left_in_any_line_of_a_log() -> None:
    header = msgspec.structs.replace(
        HEADER,
        profile={"users": {"task": [{"name": f"/x?token={SECRET}", "headers": {"Cookie": SECRET}}]}},
        target=TargetFacts(
            name="x",
            url=f"http://me:{SECRET}@127.0.0.1:1/?sig={SECRET}",
            command=("serve", "--secret", SECRET),
            params={"api_key": SECRET},
        ),
    )
    signature = FailureSignature(types=("HTTPError",), text=f"401 for url: http://x/?auth={SECRET}")
    sample = Sample(
        t_s=1.0,
        duration_s=1.0,
        level=0,
        users=1,
        wanted=1,
        phase="settled",
        endpoints=(EndpointTick(name=f"/x?token={SECRET}", method="GET"),),
        failures=(FailureTick(name=f"/x?token={SECRET}", method="GET", signature=signature, count=1),),
    )
    log = Log(t_s=1.0, source="locust", text=f"sent Authorization: Bearer {SECRET}")
    restart = Command(t_s=1.0, name="restart", args={"password": SECRET, "threads": 4})
    for event in (header, sample, log, restart):
        assert SECRET.encode() not in encode(canonical(event))
    assert canonical(restart).args["threads"] == 4


def test_long_texts_without_end_are_searched_in_linear_time() -> None:
    starts = ("a", "a=", "--a ", "://", "'a", "x-", "bearer ", '"a":', "a.-", 'pin="', 'pin: "', r"pin=\"", "pin='")
    for part in (*starts, "<a>", "<pin>", "mysql ", "mysql -u", "code=", 'authorization: a="', "hooks.slack.com/", "response="):
        long = part * (200_000 // len(part))
        assert len(redact.text(long)) > 0


@pytest.mark.parametrize(
    "text", [f'{{"password": "{SECRET}', rf"password: \"{SECRET}", f"password='{SECRET}", f'token="{SECRET}\\']
)
def test_a_secret_in_quotes_whose_end_was_cut_is_taken_out(text: str) -> None:
    assert SECRET not in redact.text(text)
    assert redact.text(redact.text(text)) == redact.text(text)


KNOWN = 'tenant 4711/"\u00fc'


@pytest.fixture
def known() -> Iterator[None]:
    redact.remember({"MY_TENANT": KNOWN, "PIN": "4711", "STAGE": "dev"})
    yield
    redact.remember({})


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "spelled",
    [
        KNOWN,
        json.dumps(KNOWN),
        json.dumps(KNOWN, ensure_ascii=False),
        quote(KNOWN),
        quote_plus(KNOWN),
        html.escape(KNOWN),
        repr(KNOWN),
        KNOWN.upper(),
        quote(KNOWN, safe="/").replace("%20", "+").lower(),
        json.dumps(KNOWN).replace("/", r"\/"),
    ],
    ids=["as it is", "JSON", "JSON in UTF-8", "path", "form", "HTML", "Python", "in capitals", "query of a URL", "JSON of PHP"],
)
def test_a_known_secret_is_taken_out_however_it_is_spelled(spelled: str) -> None:
    assert "tenant" not in redact.text(f"no such customer: {spelled} for bob").lower()
    assert "tenant" not in redact.without_known(f"no such customer: {spelled} for bob").lower()


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("end", ["", "...", "…"])
def test_a_known_secret_that_was_cut_is_taken_out(end: str) -> None:
    assert redact.text(f"no such customer: {KNOWN[:9]}{end}") == f"no such customer: ***{end}"


@pytest.mark.usefixtures("known")
def test_a_short_value_is_a_secret_by_its_name_and_as_a_whole_word() -> None:
    assert redact.text("wrong pin 4711 in dev, 34711 tries, 4711a") == "wrong pin *** in dev, 34711 tries, 4711a"


@pytest.mark.parametrize("value", ["customer 4711/b-hunter", "Ab c0ffee01 xyz", "tenant hunter2xyzabcdef tail"])
@pytest.mark.parametrize("status", [400, 500])
def test_a_known_secret_is_removed_from_signatures_which_have_no_numbers_and_ids(value: str, status: int) -> None:
    response, error = Response(), HTTPError(f"{status} Error: no {value} here")
    response.status_code, response._content = status, f"<h1>no {value} here</h1>".encode()
    redact.remember({"MY_TENANT": value})
    try:
        assert redact.text(signature_of(error, response).text).count("no *** here") == (2 if status == 500 else 1)
    finally:
        redact.remember({})


def test_a_secret_that_is_known_no_more_stays() -> None:
    redact.remember({"MY_TENANT": "tenant-4711"})
    assert redact.text("tenant-4711") == "***"
    redact.remember({})
    assert redact.text("tenant-4711") == "tenant-4711"

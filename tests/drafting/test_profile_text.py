"""The text of a drafted profile is parsed to the tasks that it was made of, and contains no secret."""

from __future__ import annotations

import pytest

from capexplorer import toml
from capexplorer.drafting import request_tasks
from capexplorer.drafting.profile_text import Draft, Part, text
from capexplorer.drafting.reading import read
from capexplorer.load.variables import expanded
from capexplorer.profile import Profile

SECRET = "hunter2XYZ"
BASIC_AUTH_PREFIX = "bWU6"
"""Base64 of the user `me` and a colon, with which its Basic authorization begins."""
COMMANDS = {
    "a header": f"curl /a -H 'Authorization: Bearer {SECRET}'",
    "an API key's header": f"curl /a -H 'X-Api-Key: {SECRET}'",
    "cookies": f"curl /a -b 'sid={SECRET}; theme=dark'",
    "user and password": f"curl /a -u me:{SECRET}",
    "the query": f"curl '/a?page=1&api_key={SECRET}'",
    "a form": f"curl /a -d 'name=me&password={SECRET}'",
    "JSON": f"""curl /a --json '{{"user": {{"name": "me", "password": "{SECRET}"}}, "n": [1, 2.5, true]}}'""",
    "JSON with a null": f"""curl /a --json '{{"password": "{SECRET}", "n": null}}'""",
    "text": f"curl /a -H 'Content-Type: text/plain' -d 'password: {SECRET}'",
}
PLAIN = {
    "odd characters": "curl '/a?q=%22' --data-raw $'say \\'\"hi\"\\'\\n\\x7f ü' -H 'Content-Type: text/plain' -H 'X-A.b: c'",
    "nested JSON": """curl /a --json '{"a b": [{"c": {}}, []], "d": "é\\n"}'""",
    "no body": "DELETE /a",
}


def test_a_placeholder_in_place_of_a_secret_stays() -> None:
    given = """curl /a -H 'Authorization: Bearer {{token}}' --json '{"password": "{{pw}}"}'"""
    secrets = request_tasks.Secrets()
    task = request_tasks.task(read(given, "request").requests[0], secrets)
    assert (task.headers, task.json, secrets.values) == ({"Authorization": "Bearer {{token}}"}, {"password": "{{pw}}"}, {})


def drafted(command: str) -> tuple[str, Profile, request_tasks.Secrets]:
    secrets = request_tasks.Secrets()
    [request] = read(command, "request").requests
    content = text(
        Draft(name="shop", command="./shop {port}", ready="/", tasks=[(request_tasks.task(request, secrets), "ok\nok")])
    )
    return content, toml.convert(toml.parse(content, "shop.toml"), Profile, "shop.toml"), secrets


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_secret_becomes_a_reference_to_the_environment(command: str) -> None:
    content, profile, secrets = drafted(command)
    assert SECRET not in content
    assert BASIC_AUTH_PREFIX not in content
    assert secrets.values
    assert [name for name in secrets.values if f"${{{name}}}" not in content] == []
    sent = expanded(profile.users.task[0], secrets.values)
    assert SECRET in f"{sent.path}{sent.body}{sent.json}{sent.headers}" or BASIC_AUTH_PREFIX in str(sent.headers)


@pytest.mark.parametrize("command", PLAIN.values(), ids=PLAIN)
def test_a_drafted_task_is_parsed_as_it_was_given(command: str) -> None:
    _, profile, secrets = drafted(command)
    [request] = read(command, "request").requests
    assert secrets.values == {}
    assert profile.users.task == (request_tasks.task(request, request_tasks.Secrets()),)


def test_two_secrets_with_one_name_get_two_references() -> None:
    secrets = request_tasks.Secrets()
    assert [secrets.reference("Cookie", value) for value in ("a", "b", "a")] == ["${COOKIE}", "${COOKIE_2}", "${COOKIE}"]


def test_well_known_servers_are_offered_as_watched_parts() -> None:
    part = Part("redis-server", 6380, "redis", "redis://127.0.0.1:6380")
    offered = text(Draft(name="shop", url="http://127.0.0.1:1", parts=[part])).partition("# [[watch]]\n")[2]
    lines = "[[watch]]\n" + offered.replace("# ", "")
    assert toml.parse(lines, "shop.toml") == {
        "watch": [{"name": "redis-server", "port": 6380, "redis": "redis://127.0.0.1:6380"}]
    }

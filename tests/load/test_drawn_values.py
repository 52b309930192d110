"""`{{NAME}}` in a task is replaced by another value for each request, from a list or from a row of a CSV file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from capexplorer.errors import InputError
from capexplorer.load.variables import DrawnTogether, drawn, read
from capexplorer.profile import Task, Users

DRAWS = 200
"""Of two values one is missing among so many draws once in 10^60 runs."""


def users(**values: Any) -> Users:
    return msgspec.convert({"task": [{"name": "/"}], "values": values}, Users)


def bodies(task: Task, groups: tuple[DrawnTogether, ...]) -> set[str | None]:
    return {drawn(task, groups).body for _ in range(DRAWS)}


def test_each_value_of_a_list_is_drawn() -> None:
    groups = read(users(sku=["A-1", "B-2"]), Path(), "shop.toml")
    assert bodies(Task(name="/", body="sku={{sku}}"), groups) == {"sku=A-1", "sku=B-2"}


def test_columns_of_one_file_are_of_one_row(tmp_path: Path) -> None:
    (tmp_path / "accounts.csv").write_text("\ufeffmail,pw,age\nann@x,1,7\n\nbob@x,2,8\n", encoding="utf-8")
    groups = read(users(mail="accounts.csv", secret="accounts.csv:pw"), tmp_path, "shop.toml")
    assert bodies(Task(name="/", body="{{mail}} {{ secret }}"), groups) == {"ann@x 1", "bob@x 2"}


def test_a_value_is_written_as_its_place_demands() -> None:
    groups = read(users(text=['a "b"/&'], number=[7], flag=[True]), Path(), "shop.toml")
    task = Task(
        name="/{{text}}", headers={"X-Flag": "{{flag}}"}, json={"text": "<{{text}}>", "n": ["{{number}}"], "on": "{{flag}}"}
    )
    found = drawn(task, groups)
    assert (found.path, found.name, found.headers) == ("/a%20%22b%22%2F%26", "/{{text}}", {"X-Flag": "true"})
    assert found.json == {"text": '<a "b"/&>', "n": [7], "on": True}
    kinds = {
        "application/json": '{"a": "{{text}}", "n": {{number}}}',
        "application/x-www-form-urlencoded": "a={{text}}&n={{number}}",
    }
    written = {
        kind: drawn(Task(name="/", headers={"content-type": kind}, body=body), groups).body for kind, body in kinds.items()
    }
    assert json.loads(written["application/json"] or "") == {"a": 'a "b"/&', "n": 7}
    assert written["application/x-www-form-urlencoded"] == "a=a+%22b%22%2F%26&n=7"


def test_a_task_without_placeholders_stays_the_same() -> None:
    task = Task(name="/", body="{ {a} } {{1}} {{a b}} ${X}")
    assert drawn(task, ()) is task


@pytest.mark.parametrize(
    ("content", "value", "message"),
    [
        (None, "a.csv", "shop.toml: users.values: .*a.csv: cannot be read: No such file"),
        ("mail\nx\n", "a.csv:mial", r"shop.toml: users.values.v: .*a.csv has no column `mial`; did you mean `mail`\?"),
        ("v,w\n", "a.csv", "a.csv: expected at least one line below the names of its columns"),
        ("v,w\n1,2\n3\n", "a.csv:w", "a.csv:3: expected 2 columns, got 1"),
        ("", "a.csv", "has no column `v`"),
    ],
)
def test_a_file_without_the_values_is_refused(content: str | None, value: str, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "a.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read(users(v=value), tmp_path, "shop.toml")

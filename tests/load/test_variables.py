"""`${NAME}` in a task is replaced by the environment variable when a request is sent."""

from __future__ import annotations

import pytest

from capexplorer.errors import InputError
from capexplorer.load.variables import check, expanded
from capexplorer.profile import Task, Users

TASK = Task(
    name="/a",
    path="/a?key=${KEY}",
    headers={"Authorization": "Bearer ${TOKEN}", "Accept": "*/*"},
    json={"user": {"password": "${PASSWORD}", "n": [1, "$KEY", None, True]}},
)
ENVIRONMENT = {"KEY": "k1", "TOKEN": "t1", "PASSWORD": "p1"}


def test_references_are_replaced_in_path_headers_json_and_body() -> None:
    assert expanded(TASK, ENVIRONMENT) == Task(
        name="/a",
        path="/a?key=k1",
        headers={"Authorization": "Bearer t1", "Accept": "*/*"},
        json={"user": {"password": "p1", "n": [1, "$KEY", None, True]}},
    )
    assert expanded(Task(name="/a", body="x=${KEY}&y=${KEY}"), ENVIRONMENT).body == "x=k1&y=k1"


def test_a_task_without_references_stays_the_same() -> None:
    task = Task(name="/a", body="$KEY ${not a name} {KEY}")
    assert expanded(task, {}) is task


@pytest.mark.parametrize(
    ("missing", "key"), [("KEY", "path"), ("TOKEN", "headers.Authorization"), ("PASSWORD", "json")], ids=lambda text: text
)
def test_a_variable_that_is_not_set_is_named_with_its_key(missing: str, key: str) -> None:
    environment = {name: value for name, value in ENVIRONMENT.items() if name != missing}
    with pytest.raises(InputError) as refused:
        check(Users(task=(Task(name="/"), TASK)), environment, "shop.toml")
    assert str(refused.value) == f"shop.toml: users.task[1].{key}: expected the environment variable {missing}, which is not set"

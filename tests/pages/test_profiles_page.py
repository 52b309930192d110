"""docs/profiles.md has every key of a profile, as the model has it, with an example that a profile may have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import inspect as shape

from capexplorer import toml
from capexplorer.profile import Profile
from docs import profiles

from .tables import ROOT

EXAMPLES = profiles.examples()


def test_the_page_is_what_the_model_and_the_examples_make() -> None:
    on_disk = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
    assert on_disk == profiles.page(EXAMPLES), "run `python docs/profiles.py`"


def keys() -> Iterator[tuple[str, str]]:
    for table in profiles.tables():
        for field in table.fields:
            if profiles.struct_of(field.type) is None:
                yield table.path, field.encode_name


@pytest.mark.parametrize(("table", "key"), keys(), ids=lambda text: text or "top")
def test_the_example_of_a_key_is_a_value_that_it_may_have(table: str, key: str) -> None:
    raw: dict[str, Any] = {"users": {"task": [{"name": "/"}]}, "watch": [{"name": "db", "at": "ssh db1"}]}
    place = raw
    for part in filter(None, table.split(".")):
        place = place.setdefault(part, {})
        place = place[0] if isinstance(place, list) else place
    if table == "stop.metric":
        place.update({"name": "x", "over": 1})
    place[key] = profiles.example_of(EXAMPLES, table)[key]
    toml.convert(raw, Profile, "docs/profiles.toml")


def test_a_key_without_an_example_is_named() -> None:
    with pytest.raises(ValueError, match=r"no example of users\.start"):
        profiles.page({**EXAMPLES, "users": {key: value for key, value in EXAMPLES["users"].items() if key != "start"}})


def test_an_example_of_no_key_is_named() -> None:
    with pytest.raises(ValueError, match=r"an example of an unknown key: guards\.most"):
        profiles.page({**EXAMPLES, "guards": {**EXAMPLES["guards"], "most": 1}})


def test_a_key_without_a_meaning_is_named() -> None:
    field = shape.Field(name="odd", encode_name="odd", type=shape.BoolType(), required=False, default=False)
    with pytest.raises(ValueError, match=r"users\.odd has no docstring"):
        profiles.row(profiles.Table("users", Profile, (field,)), field, {"odd": True})

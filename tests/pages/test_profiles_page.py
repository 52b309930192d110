"""Every key of a profile has a docstring and a valid example for docs/profiles.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from capexplorer import toml
from capexplorer.profile import Profile
from docs import profiles

EXAMPLES = profiles.examples()


def keys() -> Iterator[tuple[str, str]]:
    """(path of the table, key) of each key that is not a table itself."""
    for table in profiles.tables():
        for field in table.fields:
            if profiles.struct_of(field.type) is None:
                yield table.path, field.encode_name


def profile_with(examples: Mapping[str, Any], table: str, key: str) -> Profile:
    """One that has the example of this key."""
    profile: dict[str, Any] = {"users": {"task": [{"name": "/"}]}, "watch": [{"name": "db", "at": "ssh db1"}]}
    table_of_key = profile
    for name in filter(None, table.split(".")):
        table_of_key = table_of_key.setdefault(name, {})
        table_of_key = table_of_key[0] if isinstance(table_of_key, list) else table_of_key
    if table == "stop.metric":
        table_of_key.update({"name": "x", "over": 1})  # its required keys
    table_of_key[key] = profiles.example_of(examples, table)[key]
    return toml.convert(profile, Profile, "docs/profiles.toml")


@pytest.mark.parametrize(("table", "key"), keys(), ids=lambda text: text or "top")
def test_a_profile_with_the_example_of_a_key_is_valid(table: str, key: str) -> None:
    assert profile_with(EXAMPLES, table, key)

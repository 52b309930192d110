"""docs/profiles.md: the keys of profiles. Keys, defaults, choices and meanings come from `capexplorer/profile.py`, examples from
docs/profiles.toml. Types and bounds are in the schema, and in the line that refuses a value."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as shape

from capexplorer.commands.schema import meanings
from capexplorer.drafting.profile_text import value
from capexplorer.profile import Profile
from lab.kit.tables import table as markdown_table

DOCS = Path(__file__).parent

COLUMNS = ("key", "default, or an example", "meaning")

HEAD = """\
# Profiles

A profile is a TOML file (its model: `capexplorer/profile.py`): which service is explored, what users do, within which limits.
`capexplorer init` writes one for your own service; `capexplorer run NAME` finds `NAME.toml` in the working folder, in its
`profiles` folder, and among those that come with capexplorer. The smallest one:

```toml
command = "./server --port {port}"   # or url = "http://127.0.0.1:8000"
ready = "/health"

[users]
wait_s = { between = [0.1, 0.5] }

[[users.task]]
name = "/items"
```

The service is one of `command`, `url`, `target = "mixed"` (a folder in targets/) and `[target]` with `compose`; the command
line (`--target-cmd`, `--compose`, `--host`) overrides it. `[users]` has tasks or a `locustfile`. A mistake is refused in one
line with the file, the key and what was expected. `capexplorer schema profile` prints the JSON Schema with all types and bounds.

`${NAME}` in a task's `path`, `headers`, `body` and `json` is an environment variable, so that no secret is in the file or in
the log; a run whose variable is not set does not start. `{{NAME}}` is another value for each request:

```toml
[users.values]
sku = [7, 8, 9]
mail = "accounts.csv"                # its column mail
password = "accounts.csv:pw"         # its column pw, of the same row

[[users.task]]
name = "/orders"
method = "POST"
json = { sku = "{{sku}}", by = "{{mail}}" }
```

A string of `json` that is a placeholder alone becomes the value itself: 7 stays a number; columns of a file are text. In a
`body` values are written as its Content-Type demands, in a `path` percent-encoded.
"""


@dataclass(frozen=True)
class Table:
    """One table of the profile."""

    path: str
    """Its dotted name; empty for the keys before the first table."""
    struct: type[msgspec.Struct]
    fields: tuple[shape.Field, ...]
    is_list: bool = False

    @property
    def heading(self) -> str:
        """Its heading on the page, as the table is written in a profile."""
        if not self.path:
            return "Before the first table"
        return f"`[[{self.path}]]`" if self.is_list else f"`[{self.path}]`"


def tables() -> Iterator[Table]:
    """All tables, in the order of the model."""
    root = shape.type_info(Profile)
    assert isinstance(root, shape.StructType)
    yield from _below(Table("", Profile, root.fields))


def _below(table: Table) -> Iterator[Table]:
    yield table
    for field in table.fields:
        found = struct_of(field.type)
        if found is not None:
            path = f"{table.path}.{field.encode_name}".lstrip(".")
            is_list = isinstance(field.type, shape.VarTupleType)
            yield from _below(Table(path, found.cls, found.fields, is_list))


def struct_of(kind: shape.Type) -> shape.StructType | None:
    """The struct of the table that a key may be, also in a list or beside other types; None: it is no table."""
    match kind:
        case shape.StructType():
            return kind
        case shape.VarTupleType(item_type=item):
            return struct_of(item)
        case shape.UnionType(types=types):
            return next((found for each in types if (found := struct_of(each)) is not None), None)
    return None


def page(examples: Mapping[str, Any]) -> str:
    """The whole page: a section for each table that has keys; tables of the same keys share one.

    Raises ValueError if a key has no example or no meaning, or if an example belongs to no key.
    """
    sections: dict[type[msgspec.Struct], list[Table]] = {}
    for table in tables():
        sections.setdefault(table.struct, []).append(table)
    return "\n".join([HEAD, *(_section(same, examples) for same in sections.values() if any(map(_is_key, same[0].fields)))])


def _section(same: Sequence[Table], examples: Mapping[str, Any]) -> str:
    table = same[0]
    given = example_of(examples, table.path)
    unknown = sorted(set(given) - {field.encode_name for field in table.fields})
    if unknown:
        raise ValueError(f"docs/profiles.toml has an example of an unknown key: {table.path}.{unknown[0]}")
    rows = [row(table, field, given) for field in table.fields if _is_key(field)]
    headings = ", ".join(each.heading for each in same)
    return f"## {headings}\n\n{_text(table.struct.__doc__ or '')}\n\n{markdown_table(COLUMNS, rows)}\n"


def _is_key(field: shape.Field) -> bool:
    """Whether it may have a value that is no table with a section of its own."""
    item = field.type.item_type if isinstance(field.type, shape.VarTupleType) else field.type
    return not isinstance(item, shape.StructType)


def example_of(examples: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The examples of one table."""
    found: Any = examples
    for part in filter(None, path.split(".")):
        found = found.get(part, {})
        found = found[0] if isinstance(found, list) else found
    return found if isinstance(found, Mapping) else {}


def row(table: Table, field: shape.Field, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The cells of one line."""
    name = field.encode_name
    key = f"{table.path}.{name}".lstrip(".")
    meaning = meanings(table.struct).get(field.name)
    if meaning is None:
        raise ValueError(f"{key} has no docstring")
    if name not in given:
        raise ValueError(f"there is no example of {key}")
    usual = default(field)
    given_or_usual = usual if usual.startswith("`") else f"{usual}{example(field.type, given[name], key)}"
    return (f"`{name}`", given_or_usual, f"{meaning}{choices(field.type)}")


def example(kind: shape.Type, given: Any, key: str) -> str:
    """An example of a key's value; of a key that may be a value or a table, the inline table with its first key."""
    if struct_of(kind) is None:
        if isinstance(given, Mapping) and not key.startswith("users.task"):
            return "<br>".join(f"`{inner} = {value(each)}`" for inner, each in given.items())
        return f"`{value(given)}`"
    if isinstance(kind, shape.UnionType) and any(not isinstance(each, shape.StructType | shape.NoneType) for each in kind.types):
        first = next(iter(given))
        return f"`{value({first: given[first]})}`"
    return f"`[[{key}]]`" if isinstance(kind, shape.VarTupleType) else f"`[{key}]`"


def default(field: shape.Field) -> str:
    """The value that applies if the key is left out; words before an example if there is none."""
    if field.required:
        return "required: "
    is_set = isinstance(field.default, str | int | float) and field.default != ""
    return f"`{value(field.default)}`" if is_set else "e.g. "


def choices(kind: shape.Type) -> str:
    """The values that a key may have, if they are few texts or numbers."""
    match kind:
        case shape.UnionType(types=types):
            return "".join(choices(each) for each in types)
        case shape.LiteralType(values=values) if len(values) > 1:
            return f" One of {', '.join(f'`{value(each)}`' for each in values)}."
    return ""


def _text(docstring: str) -> str:
    return " ".join(docstring.split())


def examples() -> Mapping[str, Any]:
    """The examples, which are written by hand."""
    return tomllib.loads((DOCS / "profiles.toml").read_text(encoding="utf-8"))

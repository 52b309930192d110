"""`capexplorer schema`: JSON Schemas of the documents that programs read, made from the types."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import click
import msgspec
from msgspec import inspect as shape

from ..model.events import KnownEvent
from ..profile import Profile
from ..report.ab.formats import AbDocument
from ..report.contract import ComparisonDocument, Summary
from ..session.codec import FIELDS

DRAFT = "https://json-schema.org/draft/2020-12/schema"


class Schema(msgspec.Struct, frozen=True):
    """A published schema."""

    kind: Any
    """The type."""
    title: str
    is_whole: bool = False
    """Whether its writer leaves no key out, as it may where a type has a default."""


SCHEMAS: Mapping[str, Schema] = {
    "export": Schema(Summary, "What `capexplorer export --format json` writes", is_whole=True),
    "compare": Schema(ComparisonDocument, "What `capexplorer compare --format json` writes", is_whole=True),
    "ab": Schema(AbDocument, "What `capexplorer ab --json` writes", is_whole=True),
    "log": Schema(KnownEvent, f"A line of a session's log; {' and '.join(FIELDS)} at its end are its seal"),
    "profile": Schema(Profile, "A profile, as read from TOML"),
}
"""By name, in the order of help."""


def _help() -> str:
    return "\b\n" + "\n".join(f"{name:8} {schema.title}." for name, schema in SCHEMAS.items())


@click.command(epilog=_help())
@click.argument("name", required=False, type=click.Choice(list(SCHEMAS)))
def command(name: str | None) -> None:
    """Print the JSON Schema (draft 2020-12) of a document, for programs that read or write it.

    Without NAME it lists the documents. Documents may get further keys; a program should ignore those that it does not know.
    """
    if name is None:
        for each, schema in SCHEMAS.items():
            click.echo(f"{each:8}  {schema.title}.")
        return
    click.echo(json.dumps(document(name), indent=2, ensure_ascii=False))


def document(name: str) -> dict[str, Any]:
    """The schema of this name."""
    schema = SCHEMAS[name]
    return {"$schema": DRAFT, **schema_of(schema.kind, is_whole=schema.is_whole), "title": schema.title}


def schema_of(kind: Any, *, is_whole: bool = False) -> dict[str, Any]:
    """The schema of a type, with the docstrings of its classes and fields. `is_whole`: its writer leaves no key out."""
    (root,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for each in _objects(shape.type_info(kind)):
        definition, found = definitions[each.cls.__name__], meanings(each.cls)
        definition["description"] = _text(inspect.getdoc(each.cls) or "")
        for position, field in enumerate(each.fields):
            if "prefixItems" in definition:  # an array, whose fields have no names in the document
                words = found.get(field.name, "").partition("\n")[0]
                definition["prefixItems"][position]["description"] = f"`{field.name}`{f': {words}' if words else ''}"
            elif field.name in found:
                definition["properties"][field.encode_name]["description"] = found[field.name]
    if "$ref" in root:
        root = definitions.pop(kind.__name__)
    for definition in (root, *definitions.values()):
        _publish(definition, is_whole=is_whole)
    return {**root, **({"$defs": definitions} if definitions else {})}


def _objects(kind: shape.Type, above: frozenset[type[Any]] = frozenset()) -> Iterator[shape.StructType | shape.TypedDictType]:
    """The objects in a type, at any depth."""
    match kind:
        case shape.StructType(cls=cls, fields=fields) | shape.TypedDictType(cls=cls, fields=fields):
            if cls not in above:
                yield kind
                for field in fields:
                    yield from _objects(field.type, above | {cls})
        case shape.UnionType(types=types) | shape.TupleType(item_types=types):
            for each in types:
                yield from _objects(each, above)
        case shape.ListType(item_type=item) | shape.VarTupleType(item_type=item) | shape.DictType(value_type=item):
            yield from _objects(item, above)


# -- what validators of other languages read: msgspec's own word is left out, and patterns are those of ECMA-262


def _publish(part: Any, *, is_whole: bool) -> Any:
    """Change a part of a schema in place. `is_whole`: keys with a default are always there, so that none is a default."""
    if isinstance(part, list):
        for each in part:
            _publish(each, is_whole=is_whole)
    if not isinstance(part, dict):
        return part
    part.pop("discriminator", None)
    if isinstance(pattern := part.get("pattern"), str):
        part.update(_plain_pattern(pattern))
    if is_whole and isinstance(properties := part.get("properties"), dict):
        with_default = [name for name, each in properties.items() if "default" in each]
        part["required"] = list(dict.fromkeys([*part.get("required", ()), *with_default]))
        for name in with_default:
            del properties[name]["default"]
    for key, each in part.items():
        if key not in ("default", "enum"):
            _publish(each, is_whole=is_whole)
    return part


def _plain_pattern(pattern: str) -> dict[str, str]:
    """A pattern of Python without its comment, which says in words what is expected."""
    words = re.match(r"\(\?#([^)]*)\)", pattern)
    rest = pattern[words.end() :] if words else pattern
    rest = re.sub(r"\(\?i:([^)]*)\)", lambda found: f"(?:{re.sub('[A-Za-z]', _either_case, found[1])})", rest)
    return {"pattern": rest.replace(r"\Z", "$"), **({"$comment": f"expected: {words[1]}"} if words else {})}


def _either_case(letter: re.Match[str]) -> str:
    return f"[{letter[0].upper()}{letter[0].lower()}]"


# -- meanings of fields


@cache
def meanings(kind: type[Any]) -> dict[str, str]:
    """The docstring of each field of a class, including those of base classes."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each.__module__.partition(".")[0] == __package__.partition(".")[0]:
            body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
            assert isinstance(body, ast.ClassDef)
            for field, after in zip(body.body, body.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
                    if isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
                        found[field.target.id] = _text(after.value.value)
    return found


def _text(docstring: str) -> str:
    return " ".join(docstring.split())

"""`capexplorer schema`: what the writers write is what the schemas say, no key less and no key more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from report.made_comparisons import COMPARED
from report.made_sessions import MADE
from report.recorded_exports import SESSIONS

from capexplorer import cli, paths, toml
from capexplorer.commands.compare import rendered
from capexplorer.commands.schema import DRAFT, SCHEMAS, document
from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.report import contract
from capexplorer.report.compare import Session, compare
from capexplorer.report.formats import FORMATS
from capexplorer.session.reader import open_session

LINES_OF_A_TYPE = 3
"""Lines of each type of event that are held against the schema in each log: a log has thousands of samples."""


@cache
def validator(name: str, *, closed: bool = False) -> Any:
    """Of a schema; `closed`: it allows no key that it does not name."""
    schema = document(name)
    if closed:
        close(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def close(part: Any) -> None:
    if isinstance(part, dict) and "properties" in part:
        part.setdefault("additionalProperties", False)
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        close(each)


def mistakes(name: str, value: Any, *, closed: bool = True) -> list[str]:
    """What is wrong, each with its place."""
    found = jsonschema.exceptions.best_match(validator(name, closed=closed).iter_errors(value))
    return [] if found is None else [f"{found.json_path}: {found.message[:300]}"]


def exported(events: Iterable[Event]) -> Any:
    return json.loads(FORMATS["json"].to_text(events))


def recorded(name: str) -> Any:
    with open_session(SESSIONS[name]) as log:
        return exported(log)


def made(name: str) -> Any:
    """A document of its own for each caller."""
    return json.loads(_made(name))


@cache
def _made(name: str) -> bytes:
    return FORMATS["json"].to_text(MADE[name]())


@cache
def compared() -> list[Any]:
    """Made comparisons, and of made sessions whose exports have the same keys one with a session of rates."""
    pairs = [COMPARED[name]() for name in COMPARED]
    rates, kinds = Session(Timeline(MADE["rates"]())), {frozenset(keys(made(name))): MADE[name] for name in MADE}
    pairs += [[rates, Session(Timeline(each()))] for each in kinds.values()]
    return [json.loads(rendered(compare(sessions), "json")) for sessions in pairs]


@pytest.mark.parametrize("name", SESSIONS)
def test_the_export_of_a_recorded_session_is_what_the_schema_says(name: str) -> None:
    assert mistakes("export", recorded(name)) == []


@pytest.mark.parametrize("name", MADE)
def test_the_export_of_a_made_session_is_what_the_schema_says(name: str) -> None:
    assert mistakes("export", made(name)) == []


def test_a_comparison_is_what_the_schema_says() -> None:
    for each in compared():
        assert mistakes("compare", each) == []


def test_each_key_that_may_be_left_out_is_written_by_some_session() -> None:
    documents = [made(name) for name in MADE]
    written = set(keys(documents)) | set(keys(compared()))
    optional = {key for kind in vars(contract).values() for key in getattr(kind, "__optional_keys__", ())}
    assert optional - written == set()


def keys(value: Any) -> Iterator[str]:
    """All keys, at any depth."""
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(each)


@pytest.mark.parametrize("change", ["missing", "additional"])
def test_a_key_less_or_more_in_a_document_does_not_pass(change: str) -> None:
    whole = made(next(iter(MADE)))
    if change == "missing":
        del whole["levels"][0]["goodput_rps"]
    else:
        whole["levels"][0]["new_figure"] = 1
    (found,) = mistakes("export", whole)
    assert found.startswith("$.levels[0]: ")


def test_a_document_with_further_keys_passes_the_published_schema() -> None:
    assert mistakes("export", made(next(iter(MADE))) | {"new": 1}, closed=False) == []


@pytest.mark.parametrize("name", SESSIONS)
def test_each_line_of_a_recorded_log_is_what_the_schema_says(name: str) -> None:
    seen: dict[str, int] = {}
    for line in SESSIONS[name].read_text("utf-8").splitlines():
        kind = str(msgspec.json.decode(line)["type"])
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= LINES_OF_A_TYPE:
            assert mistakes("log", json.loads(line), closed=False) == []
    assert {"header", "sample", "level", "level_closed"} <= set(seen)


def test_each_profile_is_what_the_schema_says() -> None:
    files = [*sorted(paths.sample_profiles().glob("*.toml")), Path("docs/profiles.toml")]
    for file in files:
        assert mistakes("profile", toml.parse(file.read_text("utf-8"), file.name), closed=False) == [], file


def test_a_profile_with_an_unknown_key_does_not_pass() -> None:
    assert mistakes("profile", {"users": {"task": [{"name": "/", "wait": 1}]}}, closed=False) != []


def test_patterns_are_those_of_other_languages_too() -> None:
    found = [each["pattern"] for each in parts(document("profile")) if isinstance(each.get("pattern"), str)]
    assert found
    assert [each for each in found if re.search(r"\(\?[^:]|\\Z", each)] == []
    method = next(each for each in found if "[Gg]" in each)
    assert re.search(method, "get") and re.search(method, "DELETE") and not re.search(method, "getx")


def parts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(each)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_command_prints_a_schema_whose_objects_are_described(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["schema", name]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["$schema"] == DRAFT
    assert [each for each, definition in printed["$defs"].items() if not definition.get("description")] == []


def test_the_command_lists_the_schemas_and_refuses_another_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["schema"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SCHEMAS)
    assert cli.run(["schema", "session"]) == 2

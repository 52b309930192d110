"""What docs/contributing.md asks to be declared in one file is used in the file that gives it a meaning."""

from __future__ import annotations

import tomllib
from typing import get_args

import msgspec
import pytest

from capexplorer import profile
from capexplorer.analysis.causes.catalogue import ENTRIES
from capexplorer.model import readings
from capexplorer.model.findings import CURVE_FINDINGS, KINDS
from capexplorer.model.proposals import Why
from capexplorer.model.watched import SERVERS, PartSpec
from capexplorer.parts.servers import EXTRAS
from capexplorer.report.formats import FORMATS

from .source import words
from .tables import ROOT


def structs_of(module: object) -> list[type[msgspec.Struct]]:
    kinds = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, msgspec.Struct))
    return [kind for kind in kinds if kind.__module__.startswith(getattr(module, "__name__", ""))]


def fields_of(module: object) -> set[tuple[str, str]]:
    """(struct, field) of each struct that a module declares."""
    return {(kind.__name__, field.name) for kind in structs_of(module) for field in msgspec.structs.fields(kind)}


def test_every_cause_bottleneck_and_leak_of_the_catalogue_is_recognised_somewhere() -> None:
    assert set(ENTRIES) - words("analysis", "run", without="analysis/causes/catalogue.py").strings == set()


def test_every_kind_of_finding_is_made_by_a_detector_or_by_the_run() -> None:
    made = words("analysis", "run").called | {kind.__name__ for kind in CURVE_FINDINGS.values()}
    assert {kind.__name__ for kind in KINDS.values()} - made == set()


def test_every_reason_of_a_step_is_proposed() -> None:
    assert set(get_args(Why)) - words("load", "run", "analysis/knee/verification.py").strings == set()


def test_every_key_of_a_profile_has_an_effect() -> None:
    used = words(".", without="profile")
    assert {each for each in fields_of(profile) if each[1] not in used.attributes | used.strings} == set()


def test_every_reading_is_taken_by_a_probe() -> None:
    taken = words("probe", "parts", "load", "run")
    assert {each for each in fields_of(readings) if each[1] not in taken.keywords | taken.strings} == set()


def test_every_server_that_counts_for_itself_has_a_key_of_a_part_and_its_client_an_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {field.name for field in msgspec.structs.fields(PartSpec)} >= set(SERVERS)
    assert set(EXTRAS) == set(extras) <= set(SERVERS)


@pytest.mark.parametrize("form", FORMATS)
def test_the_readme_names_every_format(form: str) -> None:
    [usage] = [
        line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if "capexplorer export SESSION --format" in line
    ]
    assert form in usage.partition("--format ")[2].split()[0].split("|")

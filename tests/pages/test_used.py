"""Whatever is declared in one file (causes, findings, keys, readings, formats) is used in the files that give it an effect.

docs/contributing.md has the lists of these files.
"""

from __future__ import annotations

from types import ModuleType
from typing import get_args

import msgspec

from capexplorer import profile
from capexplorer.extras import EXTRAS
from capexplorer.model import readings
from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.findings import CURVE_FINDINGS, AnyFinding
from capexplorer.model.proposals import Why
from capexplorer.model.watched import SERVERS, PartSpec
from capexplorer.read.servers import CLIENTS

from .source_names import names_in


def structs_of(module: ModuleType) -> list[type[msgspec.Struct]]:
    """Structs that a module or a module below it declares."""
    structs = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, msgspec.Struct))
    return [struct for struct in structs if struct.__module__.startswith(module.__name__)]


def fields_of(module: ModuleType) -> set[tuple[str, str]]:
    """(struct, field) of each struct that a module declares."""
    return {(struct.__name__, field.name) for struct in structs_of(module) for field in msgspec.structs.fields(struct)}


def test_every_cause_bottleneck_and_leak_of_the_catalogue_is_named_by_a_module_that_recognises_it() -> None:
    recognised = names_in("analysis", "run").strings
    assert set(ENTRIES) - recognised == set()


def test_every_finding_is_made_by_a_detector_or_by_the_run() -> None:
    made = names_in("analysis", "run").called | {kind.__name__ for kind in CURVE_FINDINGS.values()}
    assert {kind.__name__ for kind in get_args(AnyFinding)} - made == set()


def test_every_reason_of_a_proposed_step_is_used_by_a_search_or_a_driver() -> None:
    used = names_in("steer", "run", "analysis/knee/verification.py").strings
    assert set(get_args(Why)) - used == set()


def test_every_key_of_a_profile_is_read_outside_the_profile_package() -> None:
    used = names_in(".", without="profile.py")
    unused = {(struct, key) for struct, key in fields_of(profile) if key not in used.attributes | used.strings}
    assert unused == set()


def test_every_reading_is_taken_by_a_probe() -> None:
    taken = names_in("read", "load", "run")
    missing = {(struct, field) for struct, field in fields_of(readings) if field not in taken.keywords | taken.strings}
    assert missing == set()


def test_every_server_with_figures_of_its_own_has_a_key_of_part_spec() -> None:
    assert {field.name for field in msgspec.structs.fields(PartSpec)} >= set(SERVERS)


def test_every_client_of_a_server_is_in_the_extra_of_its_name() -> None:
    assert {kind: EXTRAS[module] for kind, module in CLIENTS.items()} == {kind: kind for kind in CLIENTS}
    assert set(CLIENTS) <= set(SERVERS)

"""The rows as data: all ids are known, every cause is injected or has a reason why not, every family is in `make test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.analysis.causes.catalogue import ENTRIES
from trials.faults.row import FAMILIES
from trials.faults.rows import ALL, NOT_INJECTED
from trials.faults.testbed import HERE

MOST_SHORT_RUNS = 8
ROOT = Path(__file__).resolve().parents[2]


def test_there_are_more_than_thirty_faults() -> None:
    assert len([row for row in ALL.values() if row.family != "healthy"]) >= 30


def test_a_row_names_known_causes_only() -> None:
    named = {each for row in ALL.values() for each in (*row.expected, *row.one_of, *row.also_true)}
    assert named <= set(ENTRIES)


def test_every_cause_has_a_row_or_a_reason_why_not() -> None:
    injected = {each for row in ALL.values() for each in (*row.expected, *row.one_of)}
    assert injected | set(NOT_INJECTED) >= {name for name, entry in ENTRIES.items() if not entry.symptom}
    assert not injected & set(NOT_INJECTED)


def test_every_family_has_a_row_in_make_test_but_the_healthy_and_those_that_take_all_cores() -> None:
    short = [row for row in ALL.values() if row.short]
    assert {row.family for row in short} == set(FAMILIES) - {"healthy", "moving"}
    assert len(short) <= MOST_SHORT_RUNS


def test_all_client_classes_carry_a_row_out_unless_it_is_about_one_of_them() -> None:
    alone = {row.name for row in ALL.values() if len(row.clients) < 3}
    assert alone == {"retries-amplify", "generator-leaks", "healthy-webdav", "healthy-taskqueue", "lost-updates-go"}


@pytest.mark.parametrize("target", sorted(path.parent.name for path in ROOT.glob("targets/*/target.toml")))
def test_every_target_has_a_page_a_profile_and_a_healthy_row(target: str) -> None:
    healthy = {row.profile for row in ALL.values() if row.family == "healthy"}
    of_target = {path.stem for path in ROOT.glob("profiles/*.toml") if f'target = "{target}"' in path.read_text("utf-8")}
    assert (ROOT / "targets" / target / "README.md").is_file()
    assert of_target & healthy


@pytest.mark.parametrize("row", [row for row in ALL.values() if row.locustfile], ids=lambda row: row.name)
def test_the_locustfile_of_each_row_exists(row: object) -> None:
    assert (HERE / "locustfiles" / getattr(row, "locustfile", "")).is_file()

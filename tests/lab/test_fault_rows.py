"""The rows of the fault matrix: all ids are known, each cause is injected or has a reason, families have rows in `make test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.analysis.causes.catalogue import ENTRIES
from lab.trials.faults.row import FAMILIES
from lab.trials.faults.rows import ALL, NOT_INJECTED
from lab.trials.faults.testbed import HERE

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


def test_each_family_has_a_short_row_for_make_test_except_healthy_and_moving() -> None:
    short = [row for row in ALL.values() if row.short]
    assert {row.family for row in short} == set(FAMILIES) - {"healthy", "moving"}
    assert len(short) <= MOST_SHORT_RUNS


def test_rows_run_with_all_client_classes_except_these_five() -> None:
    not_for_all = {row.name for row in ALL.values() if len(row.clients) < 3}
    assert not_for_all == {"retries-amplify", "generator-leaks", "healthy-webdav", "healthy-taskqueue", "lost-updates-go"}


@pytest.mark.parametrize("target", sorted(path.parent.name for path in ROOT.glob("targets/*/target.toml")))
def test_every_target_has_a_page_a_profile_and_a_healthy_row(target: str) -> None:
    healthy = {row.profile for row in ALL.values() if row.family == "healthy"}
    of_target = {path.stem for path in ROOT.glob("profiles/*.toml") if f'target = "{target}"' in path.read_text("utf-8")}
    assert (ROOT / "targets" / target / "README.md").is_file()
    assert of_target & healthy


@pytest.mark.parametrize("row", [row for row in ALL.values() if row.locustfile], ids=lambda row: row.name)
def test_the_locustfile_of_each_row_exists(row: object) -> None:
    assert (HERE / "locustfiles" / getattr(row, "locustfile", "")).is_file()

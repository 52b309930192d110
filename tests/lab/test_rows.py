"""The rows of trials: they name known causes, each cause is injected or has a reason, and their profiles fit their targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer import profile
from capexplorer.model.catalogue import ENTRIES
from capexplorer.steer.plan import parse
from capexplorer.target.spec import load_spec
from lab.kit.runs import LAB, ROOT
from lab.trials.faults.trial import FAMILIES, NOT_INJECTED, Faults
from lab.trials.moving import LOCUSTFILE, Moving, Row, prepared
from lab.trials.parts.trial import Parts
from lab.trials.protocols.trial import SPOKEN
from lab.trials.services import KnownService, Services

FAULTS, PARTS = Faults.cases.values(), Parts.cases.values()


def test_rows_name_known_causes_and_every_cause_has_a_row_or_a_reason_why_not() -> None:
    injected = {each for row in FAULTS for each in (*row.expected, *row.one_of)}
    assert injected | {each for row in FAULTS for each in row.also_true} <= set(ENTRIES)
    spoken = {cause for each in SPOKEN for cause in each.faults.values()}
    assert injected | spoken | set(NOT_INJECTED) >= set(ENTRIES)
    assert not injected & set(NOT_INJECTED)
    assert {each for row in PARTS for each in (*row.expected, *row.also_true)} <= set(ENTRIES)


def test_rows_without_a_blame_are_few() -> None:
    """Nothing is wrong, or nginx's status page does not count missing worker connections."""
    assert [row.name for row in PARTS if not row.expected] == ["healthy", "proxy-upstream-connections"]
    assert len([row for row in FAULTS if row.family != "healthy"]) >= 30


def test_each_family_has_a_short_row_for_make_test_except_healthy_and_moving() -> None:
    short = [row for row in FAULTS if row.short]
    assert {row.family for row in short} == set(FAMILIES) - {"healthy", "moving"}
    assert len(short) <= 8, "`make test` runs them"


@pytest.mark.parametrize("target", sorted(path.parent.name for path in ROOT.glob("targets/*/target.toml")))
def test_every_target_has_a_page_a_profile_and_a_healthy_row(target: str) -> None:
    healthy = {row.profile for row in FAULTS if row.family == "healthy"}
    of_target = {path.stem for path in ROOT.glob("profiles/*.toml") if f'target = "{target}"' in path.read_text("utf-8")}
    assert (ROOT / "targets" / target / "README.md").is_file()
    assert of_target & healthy


@pytest.mark.parametrize("row", Moving.cases.values(), ids=lambda row: row.name)
def test_the_profile_of_each_moving_service_fits_its_target(row: Row, tmp_path: Path) -> None:
    found = profile.load(prepared(row, "fast", tmp_path))
    folder = LAB / "targets" / row.target
    spec = load_spec(folder if folder.is_dir() else ROOT / "targets" / row.target)
    assert set(found.params) <= set(spec.params)
    assert parse(row.plan, "plan", found.guards.max_users)
    if row.target == "moving":
        assert row.change in (spec.params["change"].choices or ())
    if row.steps:
        compile((tmp_path / LOCUSTFILE).read_text(), LOCUSTFILE, "exec")


@pytest.mark.parametrize("service", Services.cases.values(), ids=lambda each: each.name)
def test_the_profile_of_each_known_service_fits_its_target(service: KnownService, tmp_path: Path) -> None:
    (path := tmp_path / "profile.toml").write_text(service.profile)
    spec = load_spec(LAB / "targets" / "pool")
    assert service.name in (spec.params["service"].choices or ())
    assert set(profile.load(path).params) <= set(spec.params)


def test_the_knee_is_where_all_requests_at_a_time_are_used_and_a_limiter_s_has_no_service_time() -> None:
    assert KnownService("go", 5, 0.1, 0.4, "").knee_users == pytest.approx(25)
    assert KnownService("nginx", 6, 0.1, 0.4, "", delays=True).knee_users == pytest.approx(24)

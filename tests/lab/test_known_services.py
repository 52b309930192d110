"""The services of known capacity: their true knees, their profiles, and which runs are right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from capexplorer import profile
from capexplorer.target.spec import load_spec
from lab.kit.runs import LAB
from lab.trials.services import SERVICES, KnownService, judge

SERVICE = KnownService("go", 5, 0.1, 0.4, "")
KNEE: dict[str, Any] = {"users": 26.0, "capacity_rps": 51.0}


def test_the_knee_is_where_all_requests_at_a_time_are_used_and_a_limiter_s_has_no_service_time() -> None:
    assert SERVICE.knee_users == pytest.approx(25)
    assert KnownService("nginx", 6, 0.1, 0.4, "", delays=True).knee_users == pytest.approx(24)


@pytest.mark.parametrize("service", SERVICES, ids=lambda each: each.name)
def test_the_profile_of_each_known_service_fits_its_target(service: KnownService, tmp_path: Path) -> None:
    path = tmp_path / "profile.toml"
    path.write_text(service.profile)
    spec = load_spec(LAB / "targets" / "pool")
    assert spec.params["service"].choices is not None and service.name in spec.params["service"].choices
    assert set(profile.load(path).params) <= set(spec.params)


@pytest.mark.parametrize(
    ("knee", "blamed", "missing", "wrong"),
    [
        (KNEE, ["queue_growth"], (), ()),
        (KNEE | {"users": 28.0}, [], (), ("knee",)),
        (KNEE | {"capacity_rps": 44.0}, [], (), ("capacity",)),
        ({}, [], ("knee", "capacity"), ()),
        (KNEE, ["gil_bound", "queue_growth"], (), ("gil_bound",)),
    ],
    ids=["right", "a knee too high", "a capacity too low", "no knee", "a bottleneck that it does not have"],
)
def test_a_run_is_right_if_knee_and_capacity_are_near_and_nothing_is_wrongly_blamed(
    knee: dict[str, Any], blamed: list[str], missing: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    found = judge(SERVICE, knee, blamed)
    assert (found.missing, found.wrong) == (missing, wrong)

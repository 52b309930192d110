"""The services of known capacity: their true knees, their profiles, and which marks blame wrongly."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from capexplorer import profile
from capexplorer.target.spec import load_spec
from lab.trials.services.exploration import ServiceRun
from lab.trials.services.known import HERE, PROGRAMS, SERVICES, KnownService
from lab.trials.services.page import MEANS

RUN = ServiceRun(
    service="go", number=1, true_users=30.0, true_rps=50.0, users=31.0, users_low=27.0, users_high=34.0, capacity_rps=51.0,
    confidence="medium", limit="queueing", blamed=("lock_or_pool_limit",), verdict="", seconds=60.0, host_cpu_ratio=0.2,
    load_average=0.5, exit_code=0,
)  # fmt: skip


def test_the_knee_is_where_all_requests_at_a_time_are_used() -> None:
    assert KnownService("go", 5, 0.1, 0.4).knee_users == pytest.approx(25)


def test_a_limiter_s_knee_has_no_service_time() -> None:
    assert KnownService("nginx", 6, 0.1, 0.4, delays=True).knee_users == pytest.approx(24)


@pytest.mark.parametrize("service", SERVICES, ids=lambda each: each.name)
def test_the_profile_of_each_known_service_fits_its_target(service: KnownService, tmp_path: Path) -> None:
    path = tmp_path / "profile.toml"
    path.write_text(service.profile)
    params = profile.load(path).params
    spec = load_spec(HERE / "targets" / "pool")
    assert spec.params["service"].choices is not None and service.name in spec.params["service"].choices
    assert set(params) == set(spec.params) and service.name in MEANS


def test_every_listed_program_belongs_to_a_service() -> None:
    assert set(PROGRAMS) <= {each.name for each in SERVICES}


@pytest.mark.parametrize(("field", "value"), [("users", 34.0), ("capacity_rps", 44.0), ("users", None)])
def test_a_run_is_near_only_if_both_knee_and_capacity_are(field: str, value: float | None) -> None:
    assert RUN.near and not msgspec.structs.replace(RUN, **{field: value}).near


def test_a_bottleneck_that_the_service_does_not_have_is_a_wrong_blame() -> None:
    assert RUN.wrongly_blamed == ()
    assert msgspec.structs.replace(RUN, blamed=("gil_bound", "queue_growth")).wrongly_blamed == ("gil_bound",)

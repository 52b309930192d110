"""`--arrivals` beside the profile's `[users] arrivals`."""

from __future__ import annotations

import pytest

from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.run.resolving import resolve
from capexplorer.model.load import Arrivals


@pytest.mark.parametrize(("given", "expected"), [(None, "poisson"), ("even", "even"), ("poisson", "poisson")])
def test_the_arrivals_option_overrides_the_profile(given: Arrivals | None, expected: str) -> None:
    assert resolve(RunArguments(profile="sleepers", arrivals=given)).profile.users.arrivals == expected

"""Two rows of `make compose`: a plan that runs to its end, and an app that is killed. Skipped without docker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.trials.compose.trial import image, problems_of, why_not

pytestmark = [pytest.mark.slow, pytest.mark.trial]


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The image of the services, while the tests of this file run."""
    if reason := why_not():
        pytest.skip(reason)
    with image(tmp_path_factory.mktemp("image")):
        yield


@pytest.mark.parametrize("row", ["plan-to-its-end", "app-killed"])
@pytest.mark.usefixtures("containers")
def test_services_are_watched_and_nothing_of_them_is_left(row: str, tmp_path: Path) -> None:
    assert problems_of(row, tmp_path) == ()

"""The fixture `rig`: a supervisor that is ended with the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .target_rig import Rig, a_rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with a_rig(tmp_path) as found:
        yield found

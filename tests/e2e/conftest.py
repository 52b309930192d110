"""Fixtures of these tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest
from programs import require


@pytest.fixture
def mounted() -> Callable[[str], list[str]]:
    """Words of a command that runs the words after them in a new mount namespace, after a script. Skips without root."""
    require("unshare")
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("mounts are not allowed here")
    return lambda script: ["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh"]

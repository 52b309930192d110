"""A replay draws for `textual serve`, which runs it with Textual's web driver and without a terminal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .rig import PROGRAM

pytestmark = pytest.mark.slow

SERVED = {**os.environ, "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver", "COLUMNS": "100", "ROWS": "30"}


def test_a_replay_draws_for_a_browser(tmp_path: Path) -> None:
    with subprocess.Popen(
        [PROGRAM, "replay", "sample"], env=SERVED, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        drawn = b""
        while b"Throughput" not in drawn:
            chunk = os.read(process.stdout.fileno(), 65_536)
            assert chunk, drawn
            drawn += chunk
        process.kill()

"""A replay in a web browser: `textual serve` runs it with Textual's web driver, without a terminal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .rig import PROGRAM

pytestmark = pytest.mark.slow

WEB_DRIVER_ENVIRONMENT = {**os.environ, "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver", "COLUMNS": "100", "ROWS": "30"}


def test_a_replay_draws_its_panes_with_the_web_driver(tmp_path: Path) -> None:
    with subprocess.Popen(
        [PROGRAM, "replay", "sample"], env=WEB_DRIVER_ENVIRONMENT, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        output = b""
        while b"Throughput" not in output:
            chunk = os.read(process.stdout.fileno(), 65_536)
            assert chunk, f"it ended without the pane Throughput: {output[-2000:]!r}"
            output += chunk
        process.kill()

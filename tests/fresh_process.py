"""Runs Python programs in a process of their own, in which nothing is imported or patched yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_PRINT_MODULES = """
import json as _json, sys as _sys
_names = {name.partition('.')[0] for name in _sys.modules}
_sys.stderr.write('\\n' + _json.dumps(sorted(_names)))
"""


def run_in_fresh_process(program: str, environment: Mapping[str, str] = os.environ) -> str:
    """What the program wrote to stderr. It must end with exit code 0, so it may assert by itself."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def modules_loaded_by(program: str) -> set[str]:
    """The top-level modules that are loaded after the program."""
    return set(json.loads(run_in_fresh_process(program + _PRINT_MODULES).splitlines()[-1]))

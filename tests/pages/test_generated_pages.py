"""The generated pages of docs/ are what their generators make of the code."""

from __future__ import annotations

import subprocess
import sys

from .page_tables import ROOT


def test_make_pages_changes_nothing() -> None:
    """In a new process: a test in this one that invoked a command has changed the command's help option in Click."""
    checked = subprocess.run(
        [sys.executable, "-m", "docs.pages", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (checked.stdout, checked.returncode) == ("", 0), f"run `make pages`\n{checked.stderr}"

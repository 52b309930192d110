"""`man` shows docs/capexplorer.1 without warnings."""

from __future__ import annotations

import subprocess

from programs import needs

from capexplorer import cli

from .page_tables import ROOT

PAGE = ROOT / "docs" / "capexplorer.1"


@needs("man")
def test_man_shows_every_command_without_a_warning() -> None:
    shown = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", str(PAGE)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"MANPAGER": "cat", "PATH": "/usr/bin:/bin", "MANWIDTH": "100"},
    )
    assert shown.stderr == "", "warnings"
    assert [name for name in cli.COMMANDS if f"\n   {name}" not in shown.stdout] == []

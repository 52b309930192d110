"""`man` shows docs/capexplorer.1 without warnings."""

from __future__ import annotations

import subprocess

from programs import needs

from capexplorer import cli
from capexplorer.report.formats import FORMATS

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


def test_the_man_page_has_the_conditions_of_compare_and_the_formats_of_export() -> None:
    """Both are in the text that the help of these commands has below the options."""
    text = PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    assert "A condition is FIGURE[@LOAD] OP PERCENT" in text
    assert [name for name in FORMATS if f"{name}: " not in text] == [], "formats that are missing"

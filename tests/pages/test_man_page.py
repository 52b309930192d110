"""docs/capexplorer.1, the man page, is generated from the commands and their options, and `man` shows it without warnings."""

from __future__ import annotations

import subprocess
import sys

from programs import needs

from capexplorer import cli
from capexplorer.report.formats import FORMATS

from .page_tables import ROOT

PAGE = ROOT / "docs" / "capexplorer.1"


def test_the_man_page_is_what_its_generator_makes() -> None:
    """Generated in a new process: a test in this one that invoked a command has changed the command's help option in Click."""
    made = subprocess.run(
        [sys.executable, "-c", "from docs import man; print(man.page(), end='')"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    assert PAGE.read_text(encoding="utf-8") == made, "run `python docs/man.py`"


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

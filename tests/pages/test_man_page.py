"""docs/capexplorer.1 is what the command line says of itself, and a page that man shows."""

from __future__ import annotations

import subprocess
import sys

from programs import needs

from capexplorer import cli
from capexplorer.report.formats import FORMATS

from .tables import ROOT

PAGE = ROOT / "docs" / "capexplorer.1"


def test_the_page_is_what_the_command_line_makes() -> None:
    """In a process of its own: click keeps the help option of a command, as another test may have invoked it."""
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
    assert shown.stderr == ""
    assert [name for name in cli.COMMANDS if f"\n   {name}" not in shown.stdout] == []


def test_the_page_has_what_compare_and_export_say_below_their_options() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    assert "A condition is FIGURE[@USERS] OP PERCENT" in text
    assert [name for name in FORMATS if f"{name}: " not in text] == []

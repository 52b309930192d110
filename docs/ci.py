"""docs/ci.md: the text of that page, with the table of exit codes."""

from __future__ import annotations

import re
from pathlib import Path

from docs.man import EXIT_STATUS
from lab.kit.tables import table

PAGE = Path(__file__).with_suffix(".md")
_TABLE = re.compile(r"\| exit code \|.*?\n(?=\n)", re.DOTALL)


def page() -> str:
    """The whole page."""
    codes = table(("exit code", "means"), EXIT_STATUS)
    return _TABLE.sub(lambda _: f"{codes}\n", PAGE.read_text(encoding="utf-8"), count=1)

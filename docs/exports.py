"""docs/exports.md: the text of that page, with the table of the formats that there are."""

from __future__ import annotations

import re
from pathlib import Path

from capexplorer.report.formats import FORMATS
from lab.kit.tables import table

PAGE = Path(__file__).with_suffix(".md")
_TABLE = re.compile(r"\| format \|.*?\n(?=\n)", re.DOTALL)


def page() -> str:
    """The whole page."""
    rows = []
    for each in FORMATS.values():
        on_stdout = "refused" if each.text is None else each.text_lacks or "the same"
        rows.append((f"`{each.name}`", "a file" if each.suffix else "a folder", on_stdout, each.description))
    head = ("format", "`-o`", "without `-o`", "what it is")
    return _TABLE.sub(lambda _: f"{table(head, rows)}\n", PAGE.read_text(encoding="utf-8"), count=1)

"""An A/B run as Markdown for a pull request, and as JSON for programs."""

from __future__ import annotations

from typing import Any

import msgspec

from ...wording import units
from ..escaping import markdown as escaped
from ..tables import Table
from . import sentences
from .result import Result

SCHEMA = "capexplorer.ab/1"


def markdown(result: Result) -> bytes:
    """The verdict, what A and B are, the warnings, the table."""
    lines = [f"**{escaped(sentences.verdict(result))}**", ""]
    for letter, side in (("A", result.a), ("B", result.b)):
        lines.append(f"- {letter}: {escaped(side.understood)}" + (f", session {escaped(side.session)}" if side.session else ""))
    lines += ["", *(f"> **Warning:** {escaped(each)}\n" for each in result.warnings)]
    cells = [list(map(escaped, row)) for row in sentences.rows(result)]
    if cells:
        lines += [Table(sentences.TABLE_TITLES, cells, sentences.WORDS).markdown(), ""]
    lines += [sentences.INTERVALS, ""]
    return "\n".join(lines).encode()


@units.fixed()
def json(result: Result) -> bytes:
    """The document, indented."""
    return msgspec.json.format(msgspec.json.encode(document(result)), indent=2) + b"\n"


def document(result: Result) -> dict[str, Any]:
    """All of the result as plain values, with its answers. Changes are relative to A: 0.05 is 5%; null: not known."""
    return {
        "schema": SCHEMA,
        "verdict": sentences.verdict(result),
        "conventions": sentences.INTERVALS,
        "exit_code": result.exit_code,
        "findings": msgspec.to_builtins(result.findings),
        **msgspec.to_builtins(result),
    }

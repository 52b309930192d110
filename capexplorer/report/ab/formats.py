"""An A/B run as Markdown for a pull request, and as JSON for programs."""

from __future__ import annotations

import msgspec

from ...errors import ExitCode
from ...wording import units
from ..escaping import markdown as escaped
from ..tables import Table
from . import sentences
from .result import Finding, Result

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


class AbDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The result for programs. Changes are relative to A: 0.05 is 5%; null: not known."""

    schema: str = SCHEMA
    verdict: str
    """In one sentence."""
    conventions: str = sentences.INTERVALS
    exit_code: ExitCode
    """Of a run that no signal ended."""
    findings: tuple[Finding, ...]
    """Figures of each load, with answers where they were asked for."""
    run: Result


@units.fixed()
def json(result: Result) -> bytes:
    """The document, indented."""
    document = AbDocument(verdict=sentences.verdict(result), exit_code=result.exit_code, findings=result.findings, run=result)
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"

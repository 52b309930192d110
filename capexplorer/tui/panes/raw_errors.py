"""Raw errors by endpoint, as blocks of lines: count, endpoint, error and times."""

from __future__ import annotations

from collections.abc import Hashable

from rich.style import Style

from ... import wording
from ...model.kept_request import BRIEF_TEXT_MOST
from ...model.timeline import FailureCount, Timeline
from ...wording import numbers
from ..display_options import Palette
from ..render import text
from .blocks import Block
from .request_table import Subset


def blocks(timeline: Timeline, palette: Palette, width: int) -> list[Block]:
    """The blocks of wrapped lines, the most frequent error first."""
    failures = sorted(timeline.failures.items(), key=lambda pair: -pair[1].count)
    if not failures:
        return [Block((text.line([("  no request failed", Style(color=palette.muted))], width),))]
    return [_block(key, failure, timeline.examples.get(failure.signature), palette, width) for key, failure in failures]


def _block(key: Hashable, failure: FailureCount, example: str | None, palette: Palette, width: int) -> Block:
    words = text.safe(f"{failure.method} {failure.name}: {wording.failure(failure.signature)}")
    count = text.pad(f"{numbers.count(failure.count)} ×", 9, right=True) + " "
    indent, muted = " " * len(count), Style(color=palette.muted)
    named = [
        text.line([(indent if index else count, Style(color=palette.error, bold=True)), (part, Style(color=palette.text))], width)
        for index, part in enumerate(text.wrap(words, width - len(count)))
    ]
    shown = text.wrap(text.safe(f"e.g. {example}"), width - len(count) - 1) if example else []
    shown = [*shown, f"{wording.session_time(failure.first_s)} to {wording.session_time(failure.last_s)}"]
    return Block((*named, *(text.line([(indent + line, muted)], width) for line in shown)), key, len(named))


def requests_of(failure: FailureCount) -> Subset:
    """The kept requests that failed with this error."""
    here = (failure.method, failure.name, failure.signature.kind[:BRIEF_TEXT_MOST])
    title = f"{failure.method} {failure.name}: {failure.signature.kind}"
    return Subset(title, lambda timeline: lambda brief: (brief.method, brief.name, brief.kind[:BRIEF_TEXT_MOST]) == here)

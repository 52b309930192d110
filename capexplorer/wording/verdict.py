"""The verdict line: a Conclusion as one sentence. `analysis/conclusion.py` decides on its clauses and their order."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.conclusion import conclude, epochs_with_findings
from ..analysis.epoch_view import epochs
from ..model.conclusions import Clause, Conclusion, CpuUsedByOthers, NoKneeYet, ServiceLimited, ThinkTimeLimit, UsersTooNew
from ..model.grades import Severity
from ..model.timeline import Timeline
from .clauses import clause, think_time_in_full


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict line and its severity."""

    sentence: str
    severity: Severity = "info"
    marked: bool = False
    """Whether the sentence names a cause, a bottleneck or a leak, and not only the capacity curve."""
    invalid: bool = False
    """Whether the generator, its host or the network failed, so that only levels without such failures describe the service."""


def verdict(timeline: Timeline, epoch: int | None = None) -> str:
    """One sentence about an epoch (default: the latest)."""
    return judgement(timeline, epoch).sentence


def judgement(timeline: Timeline, epoch: int | None = None) -> Judgement:
    """The verdict line with its severity; see `conclude` for its cost."""
    chosen = max(epochs_with_findings(timeline), default=None) if epoch is None else epoch
    found = conclude(timeline, chosen)
    named = "" if chosen is None else epoch_name(timeline, chosen)
    sentence = f"{_upper_first(named)}: {_sentence(found)}" if named else _sentence(found)
    return Judgement(sentence, found.severity, found.marked, found.invalid)


def judgements(timeline: Timeline) -> dict[int, Judgement]:
    """One Judgement for each epoch with findings, ascending; a session without findings has one, for epoch 0."""
    return {epoch: judgement(timeline, epoch) for epoch in epochs_with_findings(timeline)} or {0: judgement(timeline)}


def epoch_name(timeline: Timeline, epoch: int) -> str:
    """`epoch 1`, to distinguish findings of different epochs; empty if there is only one."""
    return f"epoch {epoch}" if len(epochs(timeline)) > 1 else ""


def _sentence(found: Conclusion) -> str:
    first, *others = found.clauses
    sentence, before = _upper_first(_headline(first)).removesuffix("."), first
    for each in others:
        words = (
            think_time_in_full(each)
            if isinstance(each, ThinkTimeLimit) and isinstance(before, CpuUsedByOthers)
            else _lower_first(clause(each))
        )
        sentence, before = f"{sentence}{_separator(before, each)}{words.removesuffix('.')}", each
    return f"{sentence}."


def _headline(first: Clause) -> str:
    return think_time_in_full(first) if isinstance(first, ThinkTimeLimit) else clause(first)


def _separator(before: Clause, after: Clause) -> str:
    """A colon where one clause explains the other; otherwise a semicolon."""
    no_level_left_out = isinstance(before, CpuUsedByOthers) and not (before.left_out_users or before.left_out_per_s)
    reason = isinstance(before, UsersTooNew) or (isinstance(before, ServiceLimited) and isinstance(after, NoKneeYet))
    return ": " if no_level_left_out or reason else "; "


def _lower_first(sentence: str) -> str:
    """A clause that ends with a full stop, with a lower-case first letter; others stay as they are."""
    return f"{sentence[:1].lower()}{sentence[1:]}" if sentence.endswith(".") else sentence


def _upper_first(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]

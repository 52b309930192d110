"""All sentences about events, marks and verdicts: plain text without colours, layout and escaping.

Text from a target or a user is inserted unchanged; the code that displays a sentence must escape it.
"""

from __future__ import annotations

from ..analysis.causes.catalogue import where
from ..analysis.causes.resolve import belongs_to_mark
from ..analysis.epoch_view import current_marks, reported
from .advice import advice, advice_for
from .cause_texts import GROUPS, name
from .evidence import counted, doubts, endpoints, example, readings
from .knee_sentences import (
    FALLS,
    capacity,
    degrades_first,
    first_change,
    knee,
    missing,
    objective,
    objective_name,
    short_knee,
    short_missing,
    verified,
)
from .marks import (
    BLAMES,
    MARK_KINDS,
    at_load,
    change,
    figures_of_server,
    journal_mark,
    mark,
    reanalysed,
    revised,
    short_sentence,
    stop_rule,
    title,
)
from .next_step import NextStep, autopilot, is_autopilots, next_step, plan, under_way, until_next, verifying, why_not_verify
from .numbers import CONVENTIONS, INTERVALS, session_time, wall_time
from .occurrences import VOID, clients, command, failure, journal, kept_requests, target
from .rate_sentences import (
    drops,
    rate_capacity,
    rate_level,
    rate_objective,
    rate_objective_name,
    rates,
    short_rate_capacity,
)
from .verdict import Judgement, epoch_name, judgement, judgements, verdict, warm

__all__ = [
    "BLAMES",
    "CONVENTIONS",
    "FALLS",
    "GROUPS",
    "INTERVALS",
    "MARK_KINDS",
    "VOID",
    "Judgement",
    "NextStep",
    "advice",
    "advice_for",
    "at_load",
    "autopilot",
    "short_sentence",
    "capacity",
    "change",
    "clients",
    "command",
    "counted",
    "belongs_to_mark",
    "current_marks",
    "degrades_first",
    "doubts",
    "drops",
    "endpoints",
    "epoch_name",
    "example",
    "failure",
    "figures_of_server",
    "first_change",
    "is_autopilots",
    "journal",
    "journal_mark",
    "judgement",
    "judgements",
    "kept_requests",
    "knee",
    "mark",
    "missing",
    "name",
    "next_step",
    "objective",
    "objective_name",
    "plan",
    "rate_capacity",
    "rate_level",
    "rate_objective",
    "rate_objective_name",
    "rates",
    "readings",
    "reanalysed",
    "reported",
    "revised",
    "session_time",
    "short_knee",
    "short_missing",
    "short_rate_capacity",
    "stop_rule",
    "target",
    "title",
    "under_way",
    "until_next",
    "verdict",
    "verified",
    "verifying",
    "wall_time",
    "warm",
    "where",
    "why_not_verify",
]

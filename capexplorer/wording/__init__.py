"""All sentences about events, marks and verdicts: plain text without colours, layout and escaping.

Text from a target or a user is inserted unchanged; the code that displays a sentence must escape it.
"""

# mypy: implicit-reexport
# ruff: noqa: F401
from __future__ import annotations

from ..analysis.causes.resolve import belongs_to_mark
from ..analysis.epoch_view import current_marks, reported
from ..model.catalogue import GROUPS, name, where
from .advice import advice, advice_for
from .evidence import counted, doubts, endpoints, example, readings
from .experiments import changed, explanation, outcome
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
from .next_step import (
    PLAN_ENDS,
    NextStep,
    autopilot,
    is_autopilots,
    next_step,
    plan,
    sweep_step,
    under_way,
    until_next,
    verifying,
    why_not_verify,
)
from .numbers import CONVENTIONS, INTERVALS, session_time, wall_time, wall_time_at
from .occurrences import UNSEEN_SERVICE, VOID, clients, command, failure, journal, kept_requests, target
from .rate_sentences import (
    drops,
    rate_capacity,
    rate_level,
    rate_objective,
    rate_objective_name,
    rates,
    short_rate_capacity,
)
from .recommended import operating_in_full, operating_loads, operating_now, settings
from .requirements import STATES, answer, short_answer, tally, text_of
from .telemetry import TITLE as TELEMETRY_TITLE
from .telemetry import TelemetrySection, telemetry
from .verdict import Judgement, before_restart, epoch_name, epoch_title, judgement, judgements, verdict, warm

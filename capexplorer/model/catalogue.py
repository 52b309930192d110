"""Every cause of failures, bottleneck and leak: what it is, its texts, and what it means for a run.

`causes.toml` has them all. `analysis` recognises them, `wording` shows their texts.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from .verdicts import Severity

Where = Literal["generator", "host", "network", "target", "check"]
"""Locations of causes, in the order in which they are excluded. `check`: the user's own code rejected a reply."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of `causes.toml`."""

    id: str
    where: Where
    severity: Severity
    name: str
    """A clause, such as `packets are lost`."""
    of_part: str = ""
    """The same about a watched part: `the disk of {part} is full`. Empty: `name`, with the part in brackets."""
    limiter: str = ""
    """Text after "limited by", for critical causes outside the target, with which a run does not describe the service."""
    symptom: str
    """What a user sees."""
    confirmed: str
    """Readings and thresholds by which it is named."""
    advice: str
    """One line: the first thing to do, then alternatives. `{workers}` and others are options (`wording.advice`): they stand for
    what the session's target and client have, and for commands of its system."""


_TABLES = tomllib.loads(Path(__file__).with_name("causes.toml").read_text(encoding="utf-8"))

ENTRIES: dict[str, Entry] = {name: msgspec.convert({"id": name, **fields}, Entry) for name, fields in _TABLES.items()}
"""Entries by id, in the order of docs/causes.md."""


GROUPS: dict[Where, str] = {
    "generator": "Generator", "host": "Host", "network": "Network", "target": "Target", "check": "Checks",
}  # fmt: skip
"""Headings for the locations."""


def name(id: str) -> str:  # noqa: A002 - the vocabulary's word
    """The name of an id, such as `ephemeral ports exhausted (TIME_WAIT)`; of an unknown id, the id with spaces."""
    return ENTRIES[id].name if id in ENTRIES else id.replace("_", " ")


# -- consequences for a run

OUTSIDE_THE_TARGET: tuple[Where, ...] = ("generator", "host", "network")
"""Locations whose critical causes invalidate a run."""

NO_LIMITS = ("not_saturated", "think_time_limited", "generator_shares_host", "noisy_neighbours")
"""Ids of bottlenecks that do not limit the service: it was not at its limit, or they concern the run."""

NOT_YET_AT_LIMIT = ("not_saturated", "think_time_limited")
"""Ids which say that the service was not at its limit yet: more load is needed."""

DEATHS = ("target_oom_killed", "target_killed_by_signal", "target_crashed")
"""Ids of causes by which the target ended."""

REFUSALS = ("load_shedding", "rate_limited", "server_busy", "too_many_connections")
"""Ids of replies by which a service refuses requests beyond its capacity."""

OF_USER_CODE = ("users_stopped",)
"""Ids of what user code does without failing, which changes what the figures mean: a conclusion names it."""

COUNT_NO_REQUESTS = (
    "user_code_error", "users_stopped", "custom_metrics", "load_thread_blocked", "event_loop_blocked", "load_thread_ended",
    "worker_lost", "log_write_failed", "unusable_values",
)  # fmt: skip
"""Causes whose count is not one of failed requests."""

USER_CODE = "user_code_error"

RAISED = ":raised"
"""End of the key of a mark on errors of the system that user code raised outside of requests: these count none either."""


def where(id: str) -> Where:  # noqa: A002
    """The location of an id; `target` for an unknown one."""
    entry = ENTRIES.get(id)
    return entry.where if entry is not None else "target"


def invalidates_run(id: str, severity: Severity | None = None) -> bool:  # noqa: A002
    """Whether a run with this cause does not describe the target: it is critical and not located in the target.

    `severity`: that of its mark; None: that of the catalogue.
    """
    entry = ENTRIES.get(id)
    return entry is not None and entry.where in OUTSIDE_THE_TARGET and (severity or entry.severity) == "critical"

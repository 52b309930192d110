"""All causes, symptoms, bottlenecks and leaks (docs/causes.md) with their location and severity.

`wording` has the names and the advice. `classify`, `conditions`, `bottleneck` and `leaks` recognise them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...model.verdicts import Severity

Where = Literal["generator", "host", "network", "target", "check"]
"""Locations of causes, in the order in which they are excluded. `check`: the user's own code rejected a reply."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the catalogue."""

    id: str
    where: Where
    severity: Severity


_CAUSES = (
    Entry("ephemeral_port_exhaustion", "generator", "critical"),
    Entry("ephemeral_port_exhaustion_time_wait", "generator", "critical"),
    Entry("ephemeral_port_exhaustion_established", "generator", "critical"),
    Entry("fd_exhaustion_generator", "generator", "critical"),
    Entry("fd_exhaustion_system", "host", "critical"),
    Entry("host_not_allowed", "generator", "critical"),
    Entry("dns_failure", "network", "critical"),
    Entry("host_unreachable", "network", "critical"),
    Entry("network_unreachable", "network", "critical"),
    Entry("tls_certificate_error", "network", "critical"),
    Entry("tls_handshake_failure", "network", "critical"),
    Entry("conntrack_table_full", "host", "critical"),
    Entry("tcp_memory_pressure", "host", "warning"),
    Entry("time_wait_bucket_overflow", "host", "warning"),
    Entry("generator_cpu_saturated", "generator", "critical"),
    Entry("generator_retry_amplification", "generator", "warning"),
    Entry("users_at_cap", "generator", "warning"),
    Entry("generator_memory", "generator", "warning"),
    Entry("user_code_error", "generator", "error"),
    Entry("users_stopped", "generator", "info"),
    Entry("custom_events", "generator", "warning"),
    Entry("load_thread_blocked", "generator", "critical"),
    Entry("event_loop_blocked", "generator", "critical"),
    Entry("load_thread_ended", "generator", "critical"),
    Entry("worker_lost", "generator", "error"),
    Entry("failed_check", "check", "error"),
    Entry("log_write_failed", "host", "critical"),
    Entry("connection_churn", "generator", "warning"),
    Entry("target_crashed", "target", "critical"),
    Entry("target_killed_by_signal", "target", "critical"),
    Entry("target_oom_killed", "target", "critical"),
    Entry("target_restarted", "target", "error"),
    Entry("connection_refused", "target", "critical"),
    Entry("fd_exhaustion_target", "target", "critical"),
    Entry("listen_backlog_overflow", "target", "error"),
    Entry("syn_queue_overflow", "target", "warning"),
    Entry("connection_reset", "target", "error"),
    Entry("keepalive_race", "target", "warning"),
    Entry("service_closes_connections", "target", "warning"),
    Entry("incomplete_response", "target", "error"),
    Entry("malformed_response", "target", "error"),
    Entry("body_too_large", "target", "error"),
    Entry("packet_loss", "network", "warning"),
    Entry("part_not_read", "network", "warning"),
    Entry("unusable_values", "target", "warning"),
    Entry("rate_limited", "target", "warning"),
    Entry("load_shedding", "target", "warning"),
    Entry("server_error", "target", "error"),
    Entry("bad_gateway", "target", "error"),
    Entry("gateway_timeout", "target", "error"),
    Entry("client_error", "target", "error"),
    Entry("unexpected_status", "target", "error"),
    Entry("task_failed_result", "target", "error"),
    Entry("task_timeout", "target", "error"),
    Entry("connect_timeout", "network", "error"),
    Entry("read_timeout", "target", "error"),
    Entry("unknown", "target", "warning"),
)

_BOTTLENECKS = (
    Entry("think_time_limited", "generator", "info"),
    Entry("target_cpu_saturated", "target", "warning"),
    Entry("gil_bound", "target", "warning"),
    Entry("single_thread_cpu_saturated", "target", "warning"),
    Entry("host_cpu_saturated", "host", "warning"),
    Entry("cpu_throttled", "target", "warning"),
    Entry("cpu_steal", "host", "warning"),
    Entry("worker_pool_exhausted", "target", "warning"),
    Entry("lock_or_pool_limit", "target", "warning"),
    Entry("rate_limit", "target", "warning"),
    Entry("queue_growth", "target", "warning"),
    Entry("open_files_limit", "target", "warning"),
    Entry("connection_limit", "target", "warning"),
    Entry("lock_waits", "target", "warning"),
    Entry("unwatched_party", "target", "warning"),
    Entry("memory_leak", "target", "warning"),
    Entry("fd_leak", "target", "warning"),
    Entry("memory_saturated", "host", "warning"),
    Entry("swapping", "host", "warning"),
    Entry("disk_saturated", "host", "warning"),
    Entry("disk_full", "host", "error"),
    Entry("network_bandwidth_saturated", "network", "warning"),
    Entry("not_saturated", "target", "info"),
    Entry("generator_shares_host", "generator", "warning"),
    Entry("noisy_neighbours", "host", "warning"),
)

ENTRIES: dict[str, Entry] = {entry.id: entry for entry in (*_CAUSES, *_BOTTLENECKS)}
"""Entries by id, in the order of docs/causes.md."""


# -- consequences for a run

OUTSIDE_THE_TARGET: tuple[Where, ...] = ("generator", "host", "network")
"""Locations whose critical causes invalidate a run."""

NO_LIMITS = ("not_saturated", "think_time_limited", "generator_shares_host", "noisy_neighbours")
"""Ids of bottlenecks that do not limit the service: it was not at its limit, or they concern the run."""

NOT_YET_AT_LIMIT = ("not_saturated", "think_time_limited")
"""Ids which say that the service was not at its limit yet: more load is needed."""

DEATHS = ("target_oom_killed", "target_killed_by_signal", "target_crashed")
"""Ids of causes by which the target ended."""

REFUSALS = ("load_shedding", "rate_limited")
"""Ids of replies by which a service refuses requests beyond its capacity."""

OF_USER_CODE = ("users_stopped", "custom_events")
"""Ids of what user code does without failing, which changes what the figures mean: a conclusion names it."""

COUNT_NO_REQUESTS = (
    "user_code_error", "users_stopped", "custom_events", "load_thread_blocked", "event_loop_blocked", "load_thread_ended",
    "worker_lost", "log_write_failed", "unusable_values",
)  # fmt: skip
"""Causes whose count is not one of failed requests."""

USER_CODE = "user_code_error"

RAISED = ":raised"
"""End of the key of a mark on errors of the system that user code raised outside of requests: these count none either."""


def where(id: str) -> Where:  # noqa: A002 - the vocabulary's word
    """The location of an id; `target` for an unknown one."""
    entry = ENTRIES.get(id)
    return entry.where if entry is not None else "target"


def invalidates_run(id: str, severity: Severity | None = None) -> bool:  # noqa: A002
    """Whether a run with this cause does not describe the target: it is critical and not located in the target.

    `severity`: that of its mark; None: that of the catalogue.
    """
    entry = ENTRIES.get(id)
    return entry is not None and entry.where in OUTSIDE_THE_TARGET and (severity or entry.severity) == "critical"

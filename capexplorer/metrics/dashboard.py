"""A dashboard for Grafana, over the metrics of the table and the annotations of `--grafana`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .grafana import TAG
from .table import PREFIX

_SELECTOR = '{instance=~"$instance"}'
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT = 12, 8
_RATE = "$__rate_interval"


class Panel(NamedTuple):
    """A chart over time."""

    title: str
    unit: str
    """Grafana's name of it."""
    queries: tuple[tuple[str, str], ...]
    """(expression, legend) of each line. Each metric gets the selector of the chosen sessions."""


_STAGE_P95 = f"histogram_quantile(0.95, sum by (le, stage) (rate(capexplorer_request_stage_duration_seconds_bucket[{_RATE}])))"


def _quantile(q: float) -> str:
    return f"histogram_quantile({q}, sum by (le) (rate(capexplorer_request_duration_seconds_bucket[{_RATE}])))"


PANELS = (
    Panel(
        "Load", "short",
        (
            ("capexplorer_users", "users"),
            ("capexplorer_users_wanted", "requested"),
            ("capexplorer_offered_per_second", "offered/s"),
        ),
    ),
    Panel(
        "Goodput, and the capacity found", "reqps",
        (
            ("capexplorer_goodput_per_second", "goodput"),
            ("capexplorer_knee_goodput_per_second", "at the knee"),
            ("capexplorer_capacity_per_second", "capacity"),
            ("capexplorer_capacity_low_per_second", "its low bound"),
            ("capexplorer_capacity_high_per_second", "its high bound"),
        ),
    ),
    Panel("Latency of successes", "s", tuple((_quantile(q), f"p{q * 100:g}") for q in (0.5, 0.95, 0.99))),
    Panel("Streams: p95 of each stage", "s", ((_STAGE_P95, "{{stage}}"),)),
    Panel("Streams: tokens", "cps", ((f"sum(rate(capexplorer_tokens_total[{_RATE}]))", "tokens"),)),
    Panel(
        "Failures by reason", "reqps",
        ((f"sum by (reason) (rate(capexplorer_request_failures_total[{_RATE}]))", "{{reason}}"),),
    ),
    Panel(
        "Requests by endpoint", "reqps",
        ((f"sum by (method, endpoint) (rate(capexplorer_requests_total[{_RATE}]))", "{{method}} {{endpoint}}"),),
    ),
    Panel(
        "Knee", "short",
        (
            ("capexplorer_knee_users", "users at the knee"),
            ("capexplorer_knee_users_low", "low bound"),
            ("capexplorer_knee_users_high", "high bound"),
        ),
    ),
    Panel(
        "CPU, in cores", "short",
        (
            ("capexplorer_target_cpu_cores", "target"),
            ("capexplorer_generator_cpu_cores", "load thread"),
            ("capexplorer_other_processes_cpu_cores", "others"),
            ("capexplorer_host_cpu_cores", "machine"),
        ),
    ),
    Panel(
        "Is the measurement sound?", "short",
        (
            ("capexplorer_settled", "settled"),
            ("capexplorer_disturbed", "disturbed"),
            ("capexplorer_generator_lag_p99_seconds", "generator lag p99, s"),
            ("capexplorer_ephemeral_ports_used / capexplorer_ephemeral_ports_capacity", "share of ports in use"),
        ),
    ),
    Panel(
        "Memory", "bytes",
        (("capexplorer_target_memory_bytes", "target"), ("capexplorer_generator_memory_bytes", "capexplorer")),
    ),
    Panel(
        "Findings and answers", "short",
        (
            ("sum by (kind, id) (capexplorer_marks_total)", "{{kind}} {{id}}"),
            ("capexplorer_confidence == 1", "{{of}}: {{confidence}}"),
            ("capexplorer_requirement == 1", "{{requirement}}: {{state}}"),
        ),
    ),
)  # fmt: skip


def dashboard() -> str:
    """The file, to be imported into Grafana."""
    return json.dumps(_dashboard(), indent=1) + "\n"


def _dashboard() -> dict[str, Any]:
    own = {"type": "grafana", "uid": "-- Grafana --"}
    return {
        "title": "capexplorer",
        "uid": "capexplorer",
        "schemaVersion": 39,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "tags": [TAG],
        "annotations": {
            "list": [
                {
                    "name": "levels and marks",
                    "datasource": own,
                    "enable": True,
                    "iconColor": "blue",
                    "target": {"type": "tags", "tags": [TAG], "matchAny": False, "limit": 1000},
                }
            ]
        },
        "templating": {"list": [*_variables()]},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


def _variables() -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "type": "datasource", "query": "prometheus"}
    query = "label_values(capexplorer_session_info, instance)"
    yield {"name": "instance", "type": "query", "datasource": _SOURCE, "query": query, "refresh": 2, "includeAll": True}


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": {"x": number % 2 * _WIDTH, "y": number // 2 * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": _SOURCE, "expr": _selected(expression), "legendFormat": legend}
            for place, (expression, legend) in enumerate(panel.queries)
        ],
    }


def _selected(expression: str) -> str:
    return re.sub(rf"{PREFIX}\w+", lambda name: name.group() + _SELECTOR, expression)

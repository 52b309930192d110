"""A session with marks of many problems, for tests of the failures pane, its tab and the status line."""

from __future__ import annotations

from typing import Any, Literal

from marked import marked

from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.events import Event, Mark
from capexplorer.model.findings import MarkKind

from .session_events import HOSTILE_TEXT, session

State = Literal["open", "updated", "closed", "retracted"]


def cause(id_: str, at_s: float, users: float, *, kind: MarkKind = "cause", state: State = "open", **evidence: Any) -> Mark:
    """The mark of a problem since `at_s`, with the severity of its id in the catalogue; found one second later."""
    return marked(
        t_s=at_s + 1.0,
        key=f"{kind}:{id_}:epoch0",
        state=state,
        kind=kind,
        id=id_,
        users=users,
        severity=ENTRIES[id_].severity,
        confidence="high",
        evidence={"first_s": at_s, **evidence},
    )


def ports_exhausted(at_s: float = 50.0, state: State = "open") -> Mark:
    """The mark that the generator has no free ports, because too many are in TIME_WAIT."""
    return cause(
        "ephemeral_port_exhaustion_time_wait", at_s, 80, state=state, count=12_345, last_s=at_s + 9.0, rate_per_s=411.3,
        endpoints={"GET /health": 8_000, "GET /io": 4_000, "GET /cpu": 345}, ports_used=1_998, ports_capacity=2_000,
        time_wait=1_996, established=2, example="OSError, errno 99: Cannot assign requested address",
    )  # fmt: skip


def troubled() -> list[Event]:
    """Events of a session with exhausted ports, server errors with HOSTILE_TEXT, a failed check, packet loss, a leak and
    bottlenecks, and a crash of the target that has ended.
    """
    return [
        *session(),
        cause("target_crashed", 20.0, 30, state="closed", last_s=22.0, exit_code=3, example="Traceback: boom"),
        ports_exhausted(),
        cause(
            "server_error", 52.0, 80, count=12, last_s=58.0, rate_per_s=1.2, endpoints={f"GET /{n}": n for n in range(1, 7)},
            example=f"HTTP 500: {HOSTILE_TEXT}", unavailable=["listen_queue"], competing=["connection_reset"],
        ),
        cause("failed_check", 53.0, 80, count=3, last_s=57.0, check="lost_updates", example="lost_updates: expected 40, read 38"),
        cause("packet_loss", 54.0, 80, retransmitted_ratio=0.021),
        cause("fd_leak", 30.0, 50, kind="leak", growth_per_hour=7200.0, limit_in_s=240.0, pid=4711),
        cause("gil_bound", 40.0, 50, kind="bottleneck", target_cpu_ratio=0.94),
        cause("not_saturated", 10.0, 10, kind="bottleneck", busiest="disk 0.31"),
    ]  # fmt: skip

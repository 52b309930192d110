"""A session that is a sweep, with verdicts of its epochs."""

from __future__ import annotations

from typing import Any

from kit.scenario import HEADER, Scenario

from capexplorer.model.events import Command, Sweep, Target, Verdict
from capexplorer.model.sweep import Params, SettingResult
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeEvidence, KneeVerdict, RateCapacity, RateVerdict


def knee(users: float = 20.0, per_s: float | None = 100.0, **fields: Any) -> KneeVerdict:
    usual: dict[str, Any] = {
        "kind": "knee", "users_low": 0.9 * users, "users_high": 1.1 * users, "capacity_rps": per_s, "limit": "queueing",
        "confidence": "high", "evidence": KneeEvidence(levels_beyond=3),
    }  # fmt: skip
    return KneeVerdict(users=users, **(usual | fields))


def swept(finds_rate: bool = False, earlier: tuple[SettingResult, ...] = ()) -> Scenario:
    """A sweep of four settings: two with verdicts, one that failed, one that was not explored."""
    settings: tuple[Params, ...] = ({"threads": 1}, {"threads": 2}, {"threads": 4}, {"threads": 8})
    found = Scenario(HEADER).add(Sweep(t_s=0.0, settings=settings, finds_rate=finds_rate, earlier=earlier))
    _explored(found, 0, 1, capacity=40.0, levels=((1, 10), (4, 38), (8, 40)), finds_rate=finds_rate)
    found.add(Target(t_s=found.t_s, state="starting", epoch=1, params={"threads": 4, "store": "<a>"}))
    found.add(Target(t_s=found.t_s, state="failed", epoch=1, reason="exit code 1: <no memory>"))
    _explored(found, 2, 2, capacity=80.0, levels=((1, 10), (8, 76), (16, 80)), finds_rate=finds_rate)
    return found


def _explored(
    found: Scenario, epoch: int, threads: int, *, capacity: float, levels: tuple[tuple[int, int], ...], finds_rate: bool
) -> None:
    found.add(Target(t_s=found.t_s, state="starting", epoch=epoch, params={"threads": threads, "store": "<a>"}))
    found.add(Command(t_s=found.t_s, name="autopilot", args={"on": True}))
    for users, rps in levels:
        found.level(users=users, rps=rps, p99_ms=10.0 * users, epoch=epoch, by="autopilot")
    rate = RateCapacity(
        kind="capacity", per_s=capacity, low_per_s=0.95 * capacity, high_per_s=1.05 * capacity, kept_per_s=capacity
    )
    curve = CurveFit(
        low_load_rps_per_user=10.0, low_load_se=0.1, baseline_users=(1.0,), capacity_rps=capacity, capacity_se_rps=0.5
    )
    found.add(
        Verdict(
            t_s=found.t_s, epoch=epoch,
            capacity=CapacityVerdict(epoch=epoch, knee=knee(capacity / 10, capacity), curve=curve),
            rates=RateVerdict(capacity=rate) if finds_rate else None,
        )
    )  # fmt: skip
    found.add(Command(t_s=found.t_s, name="autopilot", by="autopilot", args={"on": False, "end": "done"}))

"""Bottlenecks of inference engines: levels with an engine's counts and the stages of its streams in, the bottleneck out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from analysis.loads import FACTS, READINGS, Load, closed_session
from capexplorer.analysis.bottleneck import bottlenecks
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.events import PartState
from capexplorer.model.intervals import Latency
from capexplorer.model.stages import StageFigures

ELSEWHERE = tuple(name for name in READINGS if name.startswith("target."))
"""Readings that are missing if the service runs on another machine."""

QUIET = {"requests_running": 2.0, "requests_waiting": 0.0, "kv_cache_ratio": 0.1, "preemptions_per_s": 0.0}

Engine = Mapping[str, float]


def stages(ttft_ms: float, tpot_ms: float) -> dict[str, Any]:
    means = {"ttft": ttft_ms, "tpot": tpot_ms}
    return {"stages": {stage: StageFigures(ms=Latency(mean=mean)) for stage, mean in means.items()}}


def blamed(
    engine: Engine | None, *, first_ms: float = 100, token_ms: float = 20, grows: bool = False, unread: tuple[str, ...] = ()
) -> set[tuple[str, str | None]]:
    """What limits a service whose replies of 100 tokens take 2.1 s with few users, and longer with many: `first_ms` and
    `token_ms` are means of the stages there, and `engine` its counts; None: it is not watched."""

    def load(users: int, rate: float, first_ms: float, token_ms: float, counts: Engine) -> Load:
        read = {f"part.gpu.server.{name}": value for name, value in counts.items()} if engine is not None else {}
        read |= {"part.gpu.read_ratio": 1.0} if engine is not None else {}
        total_ms = first_ms + 99 * token_ms
        return Load(users, rate, total_ms, readings=read, unread=unread, figures=stages(first_ms, token_ms), seconds=60)

    rates = (48, 96) if grows else (30, 30)
    few = [load(users, rate, 100, 20, QUIET) for users, rate in ((2, 6), (4, 12), (8, 24))]
    many = [load(users, rate, first_ms, token_ms, engine or {}) for users, rate in zip((16, 32), rates, strict=True)]
    timeline = closed_session(*few, *many)
    if engine is not None:
        timeline.apply(PartState(t_s=1.0, name="gpu", state="read", host=FACTS, machine="gpu"))
    marks = bottlenecks.marks(epoch_of(timeline, 0))
    return {(mark.id, mark.finding.part) for mark in marks if mark.id not in ("not_saturated", "think_time_limited")}  # type: ignore[union-attr]


def engine(running: float, waiting: float, used: float, preempted: float = 0.0) -> Engine:
    counts = (running, waiting, used, preempted)
    return dict(zip(("requests_running", "requests_waiting", "kv_cache_ratio", "preemptions_per_s"), counts, strict=True))


BATCH_FULL = engine(8, 12, 0.4)


@pytest.mark.parametrize(
    ("counts", "times", "found"),
    [
        (BATCH_FULL, {"first_ms": 2_000}, "engine_queue"),
        (engine(8, 12, 0.97, 4.0), {"first_ms": 2_000}, "kv_cache_full"),
        (engine(10, 1, 0.80, 4.0), {"first_ms": 300, "token_ms": 40}, "kv_cache_full"),
        (engine(8, 12, 0.97), {"first_ms": 2_000}, "kv_cache_full"),
        (engine(20, 1, 0.5), {"first_ms": 150, "token_ms": 50}, "tokens_slow_down"),
        (BATCH_FULL, {"first_ms": 2_000, "token_ms": 25}, "engine_queue"),
    ],
)
def test_what_holds_up_replies_is_what_the_engine_counts(counts: Engine, times: dict[str, float], found: str) -> None:
    assert blamed(counts, **times) == {(found, "gpu")}  # type: ignore[arg-type]
    assert blamed(counts, unread=ELSEWHERE, **times) == {(found, "gpu")}  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [BATCH_FULL, engine(8, 12, 0.97, 4.0), engine(20, 1, 0.5)])
def test_an_engine_is_no_limit_while_more_users_are_served(counts: Engine) -> None:
    assert blamed(counts, first_ms=300, token_ms=24, grows=True) == set()


def test_an_engine_with_few_waiting_requests_and_late_first_tokens_is_not_blamed() -> None:
    """They wait elsewhere: in the service before the engine."""
    assert blamed(engine(4, 1, 0.2), first_ms=2_000) == {("lock_or_pool_limit", None)}


def test_without_its_counts_slow_tokens_are_no_queue() -> None:
    assert blamed(None, first_ms=150, token_ms=50) == {("tokens_slow_down", None)}
    assert blamed(None, first_ms=2_000) == {("lock_or_pool_limit", None)}


def test_readings_of_a_preempting_engine_are_shown_with_what_competes() -> None:
    """A cache that is full, and a batch that may be: without a preemption either may be why requests wait."""
    counts = engine(8, 12, 0.97)
    read = {f"part.gpu.server.{name}": value for name, value in counts.items()} | {"part.gpu.read_ratio": 1.0}
    loads = [
        Load(users, rate, ms, readings=read) for users, rate, ms in ((2, 20, 50), (4, 40, 50), (16, 100, 110), (32, 100, 270))
    ]
    timeline = closed_session(*loads)
    timeline.apply(PartState(t_s=1.0, name="gpu", state="read", host=FACTS, machine="gpu"))
    (mark,) = (each for each in bottlenecks.marks(epoch_of(timeline, 0)) if each.id == "kv_cache_full")
    assert mark.finding.competing == ("engine_queue",)  # type: ignore[union-attr]
    assert mark.finding.readings["requests_waiting"] == 12  # type: ignore[union-attr]

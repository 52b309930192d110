"""A session whose replies are streams, as one with a language model: two endpoints, and levels that slow down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from capexplorer.model.load import OfferedTick
from kit.scenario import Scenario

LEVELS = ((1, 2, 1_400, 90, 12), (4, 8, 1_700, 110, 13), (8, 15, 2_100, 160, 16), (16, 21, 3_900, 1_800, 21))
"""(users, requests a second, greatest total, ttft and tpot in ms)."""
TOKENS = 90
"""Of each reply."""


def streams(seconds: int = 12, slower: float = 1.0, scenario: Scenario | None = None, *, at_rates: bool = False) -> Scenario:
    """The session; `slower`: its ttft by this factor, while the total stays. `at_rates`: its levels are of offered rates."""
    session = Scenario().ready(program="vllm") if scenario is None else scenario
    for users, rps, total_ms, ttft_ms, tpot_ms in LEVELS:
        load: dict[str, Any] = {"offered_per_s": float(rps)} if at_rates else {"users": users}
        level = list(_seconds(seconds, rps, total_ms, slower * ttft_ms, tpot_ms))
        if at_rates:
            level = [{**each, "offered": _offered(float(rps), each["rps"])} for each in level]
        session.level(**load, seconds=level, settling=2, p99_ms=float(total_ms))
    return session


def _offered(per_s: float, count: int) -> OfferedTick:
    return OfferedTick(offered_per_s=per_s, planned=count, started=count, finished=count)


def _seconds(count: int, rps: int, total_ms: float, ttft_ms: float, tpot_ms: float) -> Iterator[Mapping[str, Any]]:
    for second in range(count):
        requests = max(rps + second % 3 - 1, 1)
        yield {
            "name": "/chat" if second % 2 else "/complete",
            "rps": requests,
            "p99_ms": total_ms * (1 + 0.02 * (second % 4)),
            "tokens": TOKENS * requests,
            "stages": {"ttfb": 0.9 * ttft_ms, "ttft": ttft_ms * (1 + 0.03 * (second % 5)), "tpot": tpot_ms, "itl": 4 * tpot_ms},
        }

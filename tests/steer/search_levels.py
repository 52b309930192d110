"""The input of a search: levels, verdicts and verifications of a service with its knee at 50 users."""

from __future__ import annotations

import math
from collections.abc import Sequence

from capexplorer.model.figures import LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.proposals import Decision, GiveUp, GoTo, Hold
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeVerdict, Verification, VerificationStep
from capexplorer.steer.open_level import InputLevel, SearchInput

CAPACITY_RPS, RATE = 100.0, 2.0
"""The service of these tests: N* = 50."""


def level(
    users: int,
    *,
    seconds: float = 8.0,
    error: float = 0.01,
    failures: int = 0,
    goodput: float | None = None,
    response_ms: float = 100.0,
) -> InputLevel:
    """A level of that service, settled for `seconds`, with that relative standard error."""
    rate = min(RATE * users, CAPACITY_RPS) if goodput is None else goodput
    requests = int(rate * seconds) + failures
    if not seconds:
        return InputLevel(users, LevelFigures(settled=False))
    return InputLevel(
        users,
        LevelFigures(
            settled=True, settled_seconds=seconds, requests=requests, failures=failures,
            failure_ratio=failures / requests if requests else None, throughput_rps=requests / seconds, goodput_rps=rate,
            goodput_se_rps=error * rate, latency_ms=Latency(mean=100.0), latency_se_ms=100.0 * error, users_mean=float(users),
            response_ms=response_ms,
        ),
    )  # fmt: skip


STEPS = {"soak": (0.7, 10.0, 40.0), "beyond": (1.2, 6.0, 18.0), "return_to_first": (0.0, 6.0, 18.0)}
"""Share of the knee, least and most seconds of each level that verifies it."""


def verification(users: float, agree: Sequence[str] = (), **disagree: str) -> Verification:
    steps = tuple(
        VerificationStep(
            name=name,  # type: ignore[arg-type]
            users=max(1, math.ceil(share * users)),
            least_s=least_s,
            most_s=most_s,
            measured_users=1 if name in agree or name in disagree else None,
            disagreement=disagree.get(name),  # type: ignore[arg-type]
        )
        for name, (share, least_s, most_s) in STEPS.items()
    )
    state = "contradicted" if disagree else "verified" if len(agree) == len(STEPS) else "provisional"
    return Verification(state=state, steps=steps)  # type: ignore[arg-type]


def verdict(
    kind: str | None = None,
    users: float = 50.0,
    baseline: Sequence[float] = (6.0, 12.0),
    agree: Sequence[str] = (),
    **disagree: str,
) -> CapacityVerdict:
    knee = None
    if kind == "knee":
        knee = KneeVerdict(
            kind="knee", users=users, users_low=users - 5, users_high=users + 5, capacity_rps=CAPACITY_RPS,
            verification=verification(users, agree, **disagree),
        )  # fmt: skip
    elif kind == "at_or_below":
        knee = KneeVerdict(kind="at_or_below", users=users)
    elif kind == "no_knee":
        knee = KneeVerdict(kind="no_knee", users=users)
    return CapacityVerdict(
        knee=knee, curve=CurveFit(low_load_rps_per_user=RATE, low_load_se=0.02, baseline_users=tuple(baseline))
    )


def search_input(
    *levels: InputLevel,
    current: CapacityVerdict | None = None,
    open_s: float = 10.0,
    max_users: int = 1_000,
    latest: tuple[int, int] = (100, 0),
    ports: tuple[float, float | None] = (0.0, None),
    generator: bool = False,
    fault: bool = False,
    undecided: bool = False,
) -> SearchInput:
    return SearchInput(
        levels=levels, open_s=open_s, verdict=current or verdict(), max_users=max_users, latest_requests=latest[0],
        latest_failures=latest[1], ports_used_ratio=ports[0], exhausted_in_s=ports[1], generator_saturated=generator,
        fault=fault, undecided=undecided,
    )  # fmt: skip


def step(decision: Decision) -> object:
    """(users, why) of a step; the reason of a hold; with `gave up` or `done` before it that of an end."""
    match decision:
        case GoTo(users, why):
            return users, why
        case Hold(why):
            return why
        case GiveUp(users, why):
            return "gave up", users, why
    return "done", decision.why


def stepped(decision: Decision) -> int:
    """Users of a step."""
    assert isinstance(decision, GoTo), decision
    return decision.users


LOW = (level(1), level(3), level(6), level(12))

"""Clauses of the verdict line: what fails, what limits, what leaks, what the curve shows, each with time and users.

Lower case and without a full stop. `verdict` selects them and puts them in order.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model.events import Mark
from ..model.figures import LevelFigures
from ..model.findings import Bottleneck, Cause, Leak
from ..model.verdicts import KneeVerdict
from . import numbers
from .cause_names import where
from .epoch_view import DEATHS, EpochView, last_s, since_s
from .knee_sentences import capacity, knee
from .marks import title
from .times import session_time

REFUSALS = ("load_shedding", "rate_limited")
"""Warnings by which a service shows that it is at its capacity."""

SHARE_LEAST = 0.01
"""Share of failed requests from which a cause is in the verdict line, whatever its severity."""

NO_REQUESTS = ("user_code_error", "load_thread_blocked", "load_thread_ended", "log_write_failed")
"""Causes whose count is not one of failed requests."""

EVEN_MOST = 2.0
"""Ratio of the greatest to the least failure ratio of levels, up to which failures do not depend on load."""


# -- failures


def deaths(view: EpochView) -> Iterator[str]:
    """`the target crashed at 03:05 and 82 users`."""
    for mark in view.causes("target"):
        if mark.id in DEATHS:
            yield _failed(view, mark)


def failing(view: EpochView) -> Iterator[tuple[Mark, str]]:
    """Causes that failed requests, the gravest first: `client errors (HTTP 4xx), 4.6% of requests, from 03:05 at 5 users`."""
    for mark in view.causes("generator", "host", "network", "target", "check"):
        if _matters(view, mark):
            yield mark, _failed(view, mark)


def _matters(view: EpochView, mark: Mark) -> bool:
    if where(mark.id) in ("generator", "host", "network") and mark.severity == "critical":
        return False  # superseded: otherwise the verdict line already names it
    return mark.severity in ("critical", "error") or mark.id in REFUSALS or (_share(view, mark) or 0.0) >= SHARE_LEAST


def _failed(view: EpochView, mark: Mark) -> str:
    if mark.id in DEATHS:
        return f"{title(mark)} at {session_time(since_s(mark))}{at_users(mark, ' and ')}"
    share = _share(view, mark)
    part = f", {numbers.percent(share)} of requests," if share is not None else ""
    even = _at_every_load(view)
    is_capacity = mark.id in REFUSALS and not even and _has_a_top(view)
    return f"{title(mark)}{part} {'at every load' if even else since(mark)}" + ": that is its capacity" * is_capacity


def _has_a_top(view: EpochView) -> bool:
    """Whether more users brought no more goodput: only then is a refusal the service's capacity."""
    found = view.knee
    return found is not None and (found.kind in ("knee", "at_or_below") or found.peak is not None)


def _share(view: EpochView, mark: Mark) -> float | None:
    """Share of all requests since the cause began; None if it counts no failed requests."""
    cause = mark.finding
    if not isinstance(cause, Cause) or mark.id in NO_REQUESTS or not {"seconds", "deaths"}.isdisjoint(cause.counted):
        return None
    count, hidden = cause.count, cause.counted.get("retried", 0)
    requests = view.requests(cause.first_s or 0.0, last_s(mark))
    return min(1.0, (count - hidden) / requests) if requests and count > hidden else None


def _at_every_load(view: EpochView) -> bool:
    """Whether there is one cause only, with nearly the same failure ratio at levels of different users."""
    levels = view.settled()
    ratios = [level.figures.failure_ratio for level in levels]
    known = [ratio for ratio in ratios if ratio]
    causes = [mark for mark in view.marks if mark.kind == "cause" and mark.severity in ("critical", "error")]
    if len(known) < len(ratios) or len({level.users for level in levels}) < 2 or len(causes) > 1:
        return False
    return max(known) <= EVEN_MOST * min(known)


# -- limits


def bottleneck(view: EpochView) -> str:
    """`the disk is saturated at 82 users`; empty without one."""
    found = view.bottlenecks()[:2]
    users = max((mark.users or 0 for mark in found), default=0)
    return " and ".join(map(title, found)) + (f" at {numbers.counted(users)}" if users else "")


def waits(view: EpochView, *, briefly: bool = False) -> str:
    """`50 users that wait 1.0 s make 49.8/s: the users' waits limit the throughput, not the service`; empty if they do not."""
    mark = _waiting(view)
    if mark is None:
        return ""
    users, figures = numbers.users(mark.users), _figures_at(view, mark)
    if briefly:
        return f"the users' waits limit the throughput up to {users} users"
    assert isinstance(mark.finding, Bottleneck)
    wait_s = mark.finding.reading("wait_s") or (figures.wait_s if figures else None)
    rate_rps = mark.finding.reading("throughput_rps") or (figures.throughput_rps if figures else None)
    long = f" that wait {wait_s:.{1 if wait_s >= 0.95 else 2}f} s" if wait_s else ""
    making = f" make {numbers.number(rate_rps)}/s" if rate_rps else ""
    return f"{users} users{long}{making}: the users' waits limit the throughput, not the service"


def _waiting(view: EpochView) -> Mark | None:
    """The mark, if it is open or no level had more users: steps down do not end it."""
    most = max((level.users for level in view.settled()), default=0)
    found = (mark for mark in view.marks if mark.id == "think_time_limited" and mark.users)
    return next((mark for mark in found if mark.state != "closed" or (mark.users or 0) >= most), None)


def _figures_at(view: EpochView, mark: Mark) -> LevelFigures | None:
    return next((level.figures for level in reversed(view.settled()) if level.users == mark.users), None)


def leaking(view: EpochView) -> Iterator[str]:
    """`the target leaks file descriptors: 7,200 an hour, 4 min to its limit`."""
    for mark in view.marks:
        if isinstance(mark.finding, Leak) and mark.severity != "info":
            yield f"{title(mark)}: {', '.join(_growth(mark.finding))}"


def _growth(leak: Leak) -> Iterator[str]:
    per_hour = leak.growth_per_hour
    yield f"{numbers.number(round(per_hour)) if leak.unit == 'fds' else numbers.size(per_hour)} an hour"
    if leak.limit_in_s is not None:
        yield f"{numbers.span(leak.limit_in_s)} to its limit"


def sharing(view: EpochView) -> str:
    """`from 120 users on the generator had 36% of the machine's busy CPU`; empty if it was not found."""
    for mark in view.marks:
        share = mark.finding.reading("generator_share_ratio") if isinstance(mark.finding, Bottleneck) else None
        if share is not None:
            return f"from {numbers.counted(mark.users)} on the generator had {share:.0%} of the machine's busy CPU"
    return ""


# -- the curve


def knee_alone(found: KneeVerdict) -> str:
    """`knee at 47 users [43–52] and 122/s`."""
    interval = numbers.interval(found.users_low, found.users_high)
    return f"knee at {numbers.counted(found.users)} {interval} and {numbers.number(found.capacity_rps)}/s"


def curve(view: EpochView) -> str:
    """`no knee up to 74 users`, `bend from 60 users`; empty until the curve allows a verdict."""
    found = view.knee
    return knee(found) if found is not None and found.kind in ("no_knee", "bend") else ""


def curve_alone(view: EpochView) -> str:
    """The detector's verdict; what was measured, if no detector ran."""
    if view.capacity is not None:
        return capacity(view.capacity)
    settled = [level for level in view.settled() if level.figures.goodput_rps is not None]
    if not settled:
        return "No level settled: nothing can be said about capacity."
    best = max(settled, key=lambda level: level.figures.goodput_rps or 0.0)
    measured = (
        f"{len(settled)} level{'s' * (len(settled) != 1)} settled; the greatest goodput was {best.figures.goodput_rps:.4g}/s"
    )
    return f"{measured} at {best.users} users{_p95(best.figures)}. No detector has looked for a knee or a bottleneck."


def _p95(figures: LevelFigures) -> str:
    p95_ms = figures.latency_ms.p95
    return "" if p95_ms is None else f" (p95 {p95_ms:.4g} ms)"


# -- when and where


def since(mark: Mark) -> str:
    """`from 03:05 at 82 users`, in the session's time."""
    return f"from {session_time(since_s(mark))}{at_users(mark, ' at ')}"


def at_users(mark: Mark, between: str) -> str:
    """` at 82 users`; empty if the mark has none."""
    return "" if mark.users is None else f"{between}{numbers.counted(mark.users)}"


def capital(said: str) -> str:
    """With a capital first letter."""
    return said[:1].upper() + said[1:]

"""`--fail-if "p95@50>10%"`: conditions under which a build fails. A condition that cannot be judged is an error, never a pass."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

import msgspec

from ...errors import InputError
from ...toml import nearest
from ...wording.quantities import offered_rate
from . import sentences
from .comparison import Comparison, Pair
from .difference import STAGE_FIGURES, Difference
from .estimates import FALSE_MOST, significant_by_holm

OF_STREAMS = tuple(figure.name for figure in STAGE_FIGURES)
NAMES = ("knee", "capacity", "goodput", "p50", "p95", "p99", *OF_STREAMS, "failure_ratio")
OF_THE_CURVE = ("knee", "capacity")

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

HELP = """A condition is FIGURE[@LOAD] OP PERCENT: FIGURE is one of knee, capacity,
goodput, p50, p95, p99, failure_ratio, and of streams ttft_p50, ttft_p95,
ttft_p99, tpot_p50, tpot_p95, tpot_p99, OP one of < <= > >=, LOAD a number of
users, or an offered rate such as 200/s, where latencies are times from plan.
PERCENT is the change against the first session: "goodput<-5%" holds when
goodput fell by more than 5%, "p95@50>10%" when p95 at 50 users rose by more
than 10%, "p99@200/s>10%" when p99 at 200/s did. Without @LOAD: at any common
user count or rate, and beyond the noise of that many. capacity is that of
the users' curve, and the capacity as a rate, where both sessions have it. For
failure_ratio PERCENT is in percentage points. The exit code is 3 only if the
difference also exceeds its noise and is not caused by different client
classes. A condition that cannot be judged is an error: exit code 2."""

_GRAMMAR = re.compile(
    r"\s*(?P<figure>\w+)\s*(?:@\s*(?:(?P<per_s>\d+(?:\.\d+)?)\s*/\s*s|(?P<users>\d+)))?\s*(?P<op><=|>=|<|>)\s*(?P<percent>[+-]?\d+(?:\.\d+)?)\s*%\s*"
)


class Condition(msgspec.Struct, frozen=True):
    """A parsed condition."""

    text: str
    figure: str
    op: str
    limit: float
    """The limit of the change as a ratio: 0.05 is 5%."""
    users: int | None = None
    per_s: float | None = None
    """The user count or the offered rate; without both any common load, or the whole curve."""

    def holds(self, one: Difference) -> bool | None:
        """Whether the change exceeds the limit; None if the change is unknown."""
        size = self._size(one)
        return None if size is None else OPERATORS[self.op](size, self.limit)

    def distance(self, one: Difference) -> float:
        """By how much a known change stays below the limit, or above it; negative if it exceeds the limit."""
        size = self._size(one) or 0.0
        return self.limit - size if self.op.startswith(">") else size - self.limit

    def _size(self, one: Difference) -> float | None:
        size = one.change if self.figure == "failure_ratio" else one.ratio
        if size is None:  # from zero to a value: exceeds any limit
            size = None if one.change is None else float("inf") if one.change > 0 else float("-inf")
        return size


class Outcome(msgspec.Struct, frozen=True):
    """The result of one condition, as lines for stderr."""

    failed: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    """Conditions whose change exceeds the limit, but is within noise or caused by the client."""
    passed: tuple[str, ...] = ()
    """Of each pair in which no change exceeds the limit: the change that is nearest to it."""


def parse(text: str) -> Condition:
    """The condition of a text. Raises InputError with the grammar, or with the name of the nearest figure."""
    found = _GRAMMAR.fullmatch(text)
    if found is None:
        raise InputError(
            f'--fail-if: expected FIGURE[@LOAD] OP PERCENT such as "knee<-5%", "p95@50>10%" or "p99@200/s>10%", got {text!r}'
        )
    figure, users, per_s = found["figure"], found["users"], found["per_s"]
    if figure not in NAMES:
        raise InputError(f"--fail-if: {text!r}: no figure `{figure}`; {nearest(figure, NAMES)}")
    load = users or (f"{per_s}/s" if per_s else None)
    if load is not None and figure in OF_THE_CURVE:
        raise InputError(f"--fail-if: {text!r}: {figure} belongs to the whole curve: remove @{load}")
    limit = float(found["percent"]) / 100
    return Condition(text.strip(), figure, found["op"], limit, int(users) if users else None, float(per_s) if per_s else None)


def judge(condition: Condition, comparison: Comparison) -> Outcome:
    """Judge one condition on every pair."""
    outcomes = [_of_pair(condition, pair) for pair in comparison.pairs]
    return Outcome(
        tuple(line for each in outcomes for line in each.failed),
        tuple(line for each in outcomes for line in each.unjudged),
        tuple(line for each in outcomes for line in each.excused),
        tuple(line for each in outcomes for line in each.passed),
    )


def _of_pair(condition: Condition, pair: Pair) -> Outcome:
    who = f"{condition.text}: {pair.after.letter} against {pair.before.letter}"
    places = _places(condition, pair)
    if not places:
        return Outcome(unjudged=(f"{who}: cannot be judged: {_missing(condition)} in common",))
    measured = [(at, one, holds) for at, one in places if (holds := condition.holds(one)) is not None]
    if not measured:
        lacking = [curve.letter for curve, side in ((pair.before, "before"), (pair.after, "after"))
                   if all(getattr(one, side).value is None for _, one in places)]  # fmt: skip
        in_which = f" in {' and '.join(lacking)}" if lacking else ""
        return Outcome(unjudged=(f"{who}: cannot be judged: {condition.figure} was not measured{in_which}",))
    over = [(at, one) for at, one, is_over in measured if is_over]
    kept = significant_by_holm({at: one.p for at, one, _ in measured if one.p is not None}, FALSE_MOST)
    failed = tuple(f"{who}: holds{at}: {_change_text(one)}" for at, one in over if one.counts and at in kept)
    unknown = tuple(
        f"{who}: cannot be judged{at}: {_change_text(one)}"
        for at, one in over
        if one.judgement in ("unknown", "partly_client", "neighbours")
    )
    excused = tuple(
        f"{who}: does not count{at}: {_change_text(one)}" for at, one in over if one.judgement in ("within", "client")
    )
    loads = "loads" if pair.rates else "user counts"
    excused += tuple(
        f"{who}: does not count{at}: {_change_text(one)}, but not among {len(measured)} {loads}"
        for at, one in over
        if one.counts and at not in kept
    )
    at, nearest_one = min(measured, key=lambda each: condition.distance(each[1]))[:2]
    passed = () if over else (f"{who}: does not hold{at}: {_change_text(nearest_one)}",)
    return Outcome(failed, unknown, excused, passed)


def _places(condition: Condition, pair: Pair) -> Sequence[tuple[str, Difference]]:
    """(where, difference) of the whole curve, of one level, or of each level."""
    if condition.figure in OF_THE_CURVE:
        found = [("", one) for one in pair.knee if one.figure == condition.figure]
        as_rate = pair.rate_capacity if condition.figure == "capacity" else None
        return [*found, (" as a rate", as_rate)] if as_rate is not None else found
    users = [level for level in pair.levels if condition.per_s is None and condition.users in (None, level.load.users)]
    rates = [each for each in pair.rates if condition.users is None and _is_meant(condition.per_s, each.name)]
    return [
        *((f" at {level.name} users", level[condition.figure]) for level in users),
        *((f" at {each.name}", each[condition.figure]) for each in rates),
    ]


def _is_meant(per_s: float | None, name: str) -> bool:
    """Whether a condition is about this rate: its digits are those that are shown."""
    return per_s is None or offered_rate(per_s) == name


def _missing(condition: Condition) -> str:
    if condition.per_s is not None:
        return f"{offered_rate(condition.per_s)} is no settled rate"
    return "no load" if condition.users is None else f"{condition.users} users is no settled level"


def _change_text(one: Difference) -> str:
    values = f"{sentences.before(one)} to {sentences.after(one)}{sentences.unit(one)}"
    return f"{values} ({sentences.ratio(one)}), {sentences.judgement(one)}"

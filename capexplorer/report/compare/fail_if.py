"""`--fail-if "p95@50>10%"`: conditions under which a build fails. A condition that cannot be judged is an error, never a pass."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import InputError
from ...toml import nearest
from . import sentences
from .comparison import Comparison, Pair
from .difference import Difference
from .significance import FALSE_MOST, significant_by_holm

NAMES = ("knee", "capacity", "goodput", "p50", "p95", "p99", "failure_ratio")
OF_THE_CURVE = ("knee", "capacity")

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

HELP = """A condition is FIGURE[@USERS] OP PERCENT: FIGURE is one of knee, capacity,
goodput, p50, p95, p99, failure_ratio, OP one of < <= > >=. PERCENT is the
change against the first session: "goodput<-5%" holds when goodput fell by
more than 5%, "p95@50>10%" when p95 at 50 users rose by more than 10%.
Without @USERS: at any common user count, and beyond the noise of that many
counts. For failure_ratio PERCENT is in percentage points. The exit code is 3
only if the difference also exceeds its noise and is not caused by different
client classes. A condition that cannot be judged is an error: exit code 2."""

_GRAMMAR = re.compile(
    r"\s*(?P<figure>\w+)\s*(?:@\s*(?P<users>\d+))?\s*(?P<op><=|>=|<|>)\s*(?P<percent>[+-]?\d+(?:\.\d+)?)\s*%\s*"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition."""

    text: str
    figure: str
    op: str
    limit: float
    """The limit of the change as a ratio: 0.05 is 5%."""
    users: int | None = None
    """None: any common user count, or the whole curve."""

    def holds(self, one: Difference) -> bool | None:
        """Whether the change exceeds the limit; None if the change is unknown."""
        size = one.change if self.figure == "failure_ratio" else one.ratio
        if size is None:  # from zero to a value: exceeds any limit
            size = None if one.change is None else float("inf") if one.change > 0 else float("-inf")
        return None if size is None else OPERATORS[self.op](size, self.limit)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one condition, as lines for stderr."""

    failed: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    """Conditions whose change exceeds the limit, but is within noise or caused by the client."""


def parse(text: str) -> Condition:
    """The condition of a text. Raises InputError with the grammar, or with the name of the nearest figure."""
    found = _GRAMMAR.fullmatch(text)
    if found is None:
        raise InputError(f'--fail-if: expected FIGURE[@USERS] OP PERCENT such as "knee<-5%" or "p95@50>10%", got {text!r}')
    figure, users = found["figure"], found["users"]
    if figure not in NAMES:
        raise InputError(f"--fail-if: {text!r}: no figure `{figure}`; {nearest(figure, NAMES)}")
    if users is not None and figure in OF_THE_CURVE:
        raise InputError(f"--fail-if: {text!r}: {figure} belongs to the whole curve: remove @{users}")
    return Condition(text.strip(), figure, found["op"], float(found["percent"]) / 100, int(users) if users else None)


def judge(condition: Condition, comparison: Comparison) -> Outcome:
    """Judge one condition on every pair."""
    outcomes = [_of_pair(condition, pair) for pair in comparison.pairs]
    return Outcome(
        tuple(line for each in outcomes for line in each.failed),
        tuple(line for each in outcomes for line in each.unjudged),
        tuple(line for each in outcomes for line in each.excused),
    )


def _of_pair(condition: Condition, pair: Pair) -> Outcome:
    who = f"{condition.text}: {pair.after.letter} against {pair.before.letter}"
    places = _places(condition, pair)
    if not places:
        where = "no user count" if condition.users is None else f"{condition.users} users is no settled level"
        return Outcome(unjudged=(f"{who}: cannot be judged: {where} in common",))
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
    excused += tuple(
        f"{who}: does not count{at}: {_change_text(one)}, but not among {len(measured)} user counts"
        for at, one in over
        if one.counts and at not in kept
    )
    return Outcome(failed, unknown, excused)


def _places(condition: Condition, pair: Pair) -> Sequence[tuple[str, Difference]]:
    """(where, difference) of the whole curve, of one level, or of each level."""
    if condition.figure in OF_THE_CURVE:
        return [("", one) for one in pair.knee if one.figure == condition.figure]
    levels = [level for level in pair.levels if condition.users in (None, level.users)]
    return [(f" at {level.users} users", level[condition.figure]) for level in levels]


def _change_text(one: Difference) -> str:
    values = f"{sentences.before(one)} to {sentences.after(one)}{sentences.unit(one)}"
    return f"{values} ({sentences.ratio(one)}), {sentences.judgement(one)}"

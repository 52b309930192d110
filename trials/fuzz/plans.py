"""Plans: written by their grammar, then damaged, and hostile ones. No traceback, no hang; what is refused is one line.

A plan by the grammar comes with its expected steps, which are made together with its text, not by parsing it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from capexplorer.errors import InputError
from capexplorer.load.plan import Step, parse
from capexplorer.load.plan_cursor import PlanCursor

from .cases import Result, run_cases

WHERE = "--plan"
MAX_USERS = 2_000
STEPS_MOST, DAYS_MOST = 10_000, 30
LONGEST_S = 5.0
LONGEST_LINE = 300

UNITS = {"": Fraction(1), "s": Fraction(1), "ms": Fraction(1, 1000), "m": Fraction(60), "h": Fraction(3600)}
WORDS = "loop |loop 2 (|steps|by|..|ramp to|spike|find knee|verify|knee|hold|for|over|each|ms|h|d|%|:|,|(|)|-1|1.5|1e9"
RATES = "rate|rates|/s|capacity"
PIECES = [*WORDS.split("|"), *RATES.split("|"), "\n", " ", "9" * 19, "0" * 40, *"٣²🙂'\"\\{\x00\udcff\u00a0\u2028\x1b"]


Expected = tuple[int, Fraction, Fraction, str] | tuple[int, Fraction, Fraction, str, Fraction]
"""(users, share of the knee or the capacity in percent, seconds, kind), and the offered rate."""


@dataclass(frozen=True)
class Written:
    """A part of a plan, and its steps."""

    text: str
    steps: Sequence[Expected]


def run(count: int, seed: int) -> Result:
    """The cases `seed` to `seed + count - 1`."""
    return run_cases(_case, count, seed, LONGEST_S)


def _case(chance: random.Random) -> str:
    return chance.choice((_by_grammar, _by_grammar, _damaged, _damaged, _hostile))(chance)


def _by_grammar(chance: random.Random) -> str:
    written = _plan(chance, deep=0)
    steps = _parsed(written.text)
    seconds = sum((step[2] for step in written.steps), Fraction(0))
    within = len(written.steps) <= STEPS_MOST and seconds <= DAYS_MOST * 86_400 and len(written.text) <= 10_000
    if not within or any(users > MAX_USERS for users, *_ in written.steps):
        assert steps is None, f"accepted beyond its bounds: {written.text[:200]!r}"
        return "by grammar, beyond the bounds"
    assert steps is not None, f"refused: {written.text[:200]!r}"
    assert [_figures(step) for step in steps] == [_expected(step) for step in written.steps], written.text[:200]
    assert math.isclose(_lasts_s(steps), seconds, rel_tol=1e-9)
    return "by grammar"


def _damaged(chance: random.Random) -> str:
    text = _plan(chance, deep=0).text[:2_000]
    for _ in range(chance.randint(1, 5)):
        at, length = chance.randint(0, len(text)), chance.choice((0, 0, 1, 1, 3, 20))
        text = text[:at] + chance.choice((chance.choice(PIECES), "", text[at : at + length] * 2)) + text[at + length :]
    return "damaged, refused" if _parsed(text) is None else "damaged, still a plan"


def _hostile(chance: random.Random) -> str:
    many, part = chance.choice((1, 9, 60, 400, 1_200, 5_000, 20_000, 100_000)), chance.choice(PIECES)
    text = chance.choice(HOSTILE)(many, part)
    return "hostile, refused" if _parsed(text) is None else "hostile, still a plan"


HOSTILE: list[Callable[[int, str], str]] = [
    lambda many, _: f"5:{'9' * many}",
    lambda many, _: f"{'9' * many}:5",
    lambda many, _: f"5:0.{'9' * many}",
    lambda many, _: f"5:{'0' * many}1",
    lambda many, _: f"{'9' * many}% knee:1s",
    lambda many, _: f"steps 0..{'9' * many} by 1 1s",
    lambda many, _: f"steps {'9' * many}..0 by {'9' * many} 1s",
    lambda many, _: f"loop {'9' * many} (5:1s)",
    lambda many, _: f"{'loop 1 (' * many}5:1s{')' * many}",
    lambda many, _: f"{'loop 9 (' * min(many, 8)}5:1s{')' * min(many, 8)}",
    lambda many, _: f"5{' ' * many}:{' ' * many}1s",
    lambda many, _: f"hold{' ' * many}5{' ' * many}1{' ' * many}x",
    lambda many, part: part * many,
    lambda many, part: f"5:1s,{part * many}",
    lambda many, part: f"loop 2 ({part * many})",
    lambda many, part: f"ramp to {part}{' ' * many}",
    lambda many, _: "5:1s," * many,
    lambda many, _: "5:1s\n" * many,
]
"""Of a length and a piece."""


def _parsed(text: str) -> tuple[Step, ...] | None:
    """The plan's steps; None if it is refused. AssertionError if the refusal is not one line, or the accepted plan cannot be
    driven."""
    try:
        steps = parse(text, WHERE, MAX_USERS)
    except InputError as error:
        line = str(error)
        assert line.startswith(f"{WHERE}: ") and line.isprintable() and len(line) <= LONGEST_LINE, line[:400]
        return None
    assert 1 <= len(steps) <= STEPS_MOST
    assert all(0 <= step.users <= MAX_USERS and 0 <= step.hold_s < math.inf for step in steps)
    assert math.fsum(step.hold_s for step in steps) <= DAYS_MOST * 86_400
    return steps


def _lasts_s(steps: tuple[Step, ...]) -> float:
    """Driven to its end with users that are there at once."""
    cursor, now_s = PlanCursor(steps), 0.0
    while (step := cursor.due(now_s)) is not None:
        cursor.found(now_s) if step.is_autopilots else cursor.spawned(now_s)
        now_s = cursor.next_s if cursor.next_s is not None else now_s
    assert cursor.finished
    return now_s


def _figures(step: Step) -> tuple[int, float | None, float, str, float | None]:
    share = None if step.share is None else round(step.share, 9)
    return step.users, share, round(step.hold_s, 6), step.kind, step.offered_per_s


def _expected(step: Expected) -> tuple[int, float | None, float, str, float | None]:
    users, percent, seconds, kind, *rate = step
    share = None if percent < 0 else round(float(percent) / 100, 9)
    return users, share, round(float(seconds), 6), kind, float(rate[0]) if rate else None


def _plan(chance: random.Random, deep: int) -> Written:
    written = [_part(chance, deep) for _ in range(chance.choice((1, 1, 2, 3, 8)))]
    text = written[0].text
    for each in written[1:]:
        text += chance.choice((",", ", ", "\n", " ,\t", "\n\n  ")) + each.text
    return Written(
        chance.choice(("", " ", "\n")) + text + chance.choice(("", " ")), [step for each in written for step in each.steps]
    )


def _part(chance: random.Random, deep: int) -> Written:
    if deep < 7 and chance.random() < 0.25:
        return _loop(chance, deep)
    return chance.choice((_hold, _hold, _ramp, _spike, _steps, _rate, _rates, _find))(chance)


def _hold(chance: random.Random) -> Written:
    users, step = _users(chance)
    text, seconds = _duration(chance)
    return Written(f"{chance.choice(('', 'hold ', 'hold  '))}{users}{_between(chance)}{text}", [(*step, seconds, "hold")])


def _ramp(chance: random.Random) -> Written:
    users, step = _users(chance)
    text, seconds = _duration(chance)
    return Written(f"ramp {chance.choice(('', 'to '))}{users}{_between(chance)}{text}", [(*step, seconds, "ramp")])


def _spike(chance: random.Random) -> Written:
    users, step = _users(chance)
    text, seconds = _duration(chance)
    back = (0, Fraction(-1), seconds, "back")
    return Written(f"spike {users}{_between(chance)}{text}", [(*step, seconds, "spike"), back])


def _steps(chance: random.Random) -> Written:
    first, last, by = chance.randint(0, 300), chance.randint(0, 300), chance.choice((1, 5, 20, 1_000))
    text, seconds = _duration(chance)
    counts = []
    users = first
    while users <= last if first <= last else users >= last:
        counts.append(users)
        users += by if first <= last else -by
    each = chance.choice(("", "each "))
    return Written(f"steps {first}..{last} by {by} {each}{text}", [(users, Fraction(-1), seconds, "hold") for users in counts])


def _rate(chance: random.Random) -> Written:
    """A hold, ramp or spike of a rate, or of a share of the capacity."""
    word, kind = chance.choice((("", "hold"), ("rate ", "hold"), ("hold ", "hold"), ("ramp to ", "ramp"), ("spike ", "spike")))
    text, seconds = _duration(chance)
    if chance.random() < 0.3:
        percent = chance.randint(1, 1_000)
        load, step = f"{percent}% {chance.choice(('', 'of the '))}capacity", (0, Fraction(percent), seconds, kind, Fraction(0))
    else:
        rate = Fraction(chance.randint(1, 4_000), 4)
        load, step = f"{float(rate):g}{chance.choice(('/s', ' / s'))}", (0, Fraction(-1), seconds, kind, rate)
    back: list[Expected] = [(0, Fraction(-1), seconds, "back")] if kind == "spike" else []
    return Written(f"{word}{load}{_between(chance)}{text}", [step, *back])


def _rates(chance: random.Random) -> Written:
    first, last, by = chance.randint(1, 300), chance.randint(1, 300), chance.choice((1, 5, 20, 1_000))
    text, seconds = _duration(chance)
    found = range(first, last + 1, by) if first <= last else range(first, last - 1, -by)
    unit = chance.choice(("", "/s"))
    steps = [(0, Fraction(-1), seconds, "hold", Fraction(rate)) for rate in found]
    return Written(f"rates {first}{unit}..{last}{unit} by {by} {text}", steps)


def _find(chance: random.Random) -> Written:
    kind = chance.choice(("find", "verify"))
    return Written(f"{kind} {chance.choice(('knee', 'the  knee'))}", [(0, Fraction(-1), Fraction(0), kind)])


def _loop(chance: random.Random, deep: int) -> Written:
    """Never more than one step beyond the limit: that shows as much as many."""
    inner, times = _plan(chance, deep + 1), chance.choice((1, 2, 3, 50))
    return Written(f"loop {times} ({inner.text})", (list(inner.steps) * times)[: STEPS_MOST + 1])


def _users(chance: random.Random) -> tuple[str, tuple[int, Fraction]]:
    """(text, (users, percent of the knee or -1))."""
    if chance.random() < 0.2:
        percent = chance.choice((Fraction(60), Fraction(125, 2), Fraction(1000), Fraction(0)))
        return f"{float(percent):g}{chance.choice(('% knee', ' % of the knee', '%knee'))}", (0, percent)
    users = chance.choice((0, 1, 7, 50, 2_000, 2_000, 2_001 if chance.random() < 0.1 else 3))
    return str(users), (users, Fraction(-1))


def _between(chance: random.Random) -> str:
    return chance.choice((":", " ", " : ", "\t", ":  "))


def _duration(chance: random.Random) -> tuple[str, Fraction]:
    number = chance.choice(("1", "30", "0.5", "2.25", "90", "1.125", "400" if chance.random() < 0.1 else "3"))
    unit = chance.choice(list(UNITS))
    word = chance.choice(("", "", "", "for ", "over "))
    return f"{word}{number}{chance.choice(('', ' ')) if unit else ''}{unit}", Fraction(number) * UNITS[unit]

"""Plans that follow the grammar, damaged ones, and hostile ones: no traceback, no hang, and each refusal is one line.

A plan that follows the grammar is made together with its expected steps, which are not found by parsing it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from capexplorer.errors import InputError
from capexplorer.steer.plan import Share, Step, parse
from capexplorer.steer.plan_moves import PlanCursor

from .cases import Fuzzed, run_cases

WHERE = "--plan"
MAX_USERS = 2_000
STEPS_MOST, DAYS_MOST = 10_000, 30
LONGEST_S = 5.0
LONGEST_LINE = 300

UNITS = {"": Fraction(1), "s": Fraction(1), "ms": Fraction(1, 1000), "m": Fraction(60), "h": Fraction(3600)}
WORDS = "loop |loop 2 (|steps|by|..|ramp to|spike|find knee|verify|knee|profile|hold|for|over|each|ms|h|d|%|:|,|(|)|-1|1.5|1e9"
RATES = "rate|rates|/s|capacity"
PIECES = [*WORDS.split("|"), *RATES.split("|"), "\n", " ", "9" * 19, "0" * 40, *"٣²🙂'\"\\{\x00\udcff\u00a0\u2028\x1b"]


Expected = tuple[int, Fraction, Fraction, str] | tuple[int, Fraction, Fraction, str, Fraction]
"""(users, share of the knee or the capacity in percent, seconds, kind), and the offered rate."""


@dataclass(frozen=True)
class Written:
    text: str
    steps: Sequence[Expected]


def run(count: int, seed: int) -> Fuzzed:
    return run_cases(_case, count, seed, LONGEST_S)


def _case(rng: random.Random) -> str:
    return rng.choice((_by_grammar, _by_grammar, _damaged, _damaged, _hostile))(rng)


def _by_grammar(rng: random.Random) -> str:
    written = _plan(rng, depth=0)
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


def _damaged(rng: random.Random) -> str:
    text = _plan(rng, depth=0).text[:2_000]
    for _ in range(rng.randint(1, 5)):
        at, length = rng.randint(0, len(text)), rng.choice((0, 0, 1, 1, 3, 20))
        text = text[:at] + rng.choice((rng.choice(PIECES), "", text[at : at + length] * 2)) + text[at + length :]
    return "damaged, refused" if _parsed(text) is None else "damaged, still a plan"


def _hostile(rng: random.Random) -> str:
    many, part = rng.choice((1, 9, 60, 400, 1_200, 5_000, 20_000, 100_000)), rng.choice(PIECES)
    text = rng.choice(HOSTILE)(many, part)
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
"""Hostile plans, each made from a length and a piece of plan text."""


def _parsed(text: str) -> tuple[Step, ...] | None:
    """The plan's steps; None if it is refused. AssertionError if the refusal is not one line, or an accepted plan exceeds a
    limit."""
    try:
        steps = parse(text, WHERE, MAX_USERS)
    except InputError as error:
        line = str(error)
        assert line.startswith(f"{WHERE}: ") and line.isprintable() and len(line) <= LONGEST_LINE, line[:400]
        return None
    assert 1 <= len(steps) <= STEPS_MOST
    assert all(
        (isinstance(step.load, Share) or 0 <= step.load.users <= MAX_USERS) and 0 <= step.hold_s < math.inf for step in steps
    )
    assert math.fsum(step.hold_s for step in steps) <= DAYS_MOST * 86_400
    return steps


def _lasts_s(steps: tuple[Step, ...]) -> float:
    cursor, now_s = PlanCursor(steps), 0.0
    while (step := cursor.due(now_s)) is not None:
        cursor.spawned(now_s) if step.is_timed else cursor.ended(now_s + step.hold_s)
        now_s = cursor.next_s if cursor.next_s is not None else now_s
    assert cursor.finished
    return now_s


def _figures(step: Step) -> tuple[int, float | None, float, str, float | None]:
    load, hold_s = step.load, round(step.hold_s, 6)
    if isinstance(load, Share):
        return 0, round(load.share, 9), hold_s, step.kind, 0.0 if load.of == "capacity" else None
    return load.users, None, hold_s, step.kind, load.per_s


def _expected(step: Expected) -> tuple[int, float | None, float, str, float | None]:
    users, percent, seconds, kind, *rate = step
    share = None if percent < 0 else round(float(percent) / 100, 9)
    return users, share, round(float(seconds), 6), kind, float(rate[0]) if rate else None


def _plan(rng: random.Random, depth: int) -> Written:
    written = [_part(rng, depth) for _ in range(rng.choice((1, 1, 2, 3, 8)))]
    text = written[0].text
    for each in written[1:]:
        text += rng.choice((",", ", ", "\n", " ,\t", "\n\n  ")) + each.text
    return Written(rng.choice(("", " ", "\n")) + text + rng.choice(("", " ")), [step for each in written for step in each.steps])


def _part(rng: random.Random, depth: int) -> Written:
    if depth < 7 and rng.random() < 0.25:
        return _loop(rng, depth)
    return rng.choice((_hold, _hold, _ramp, _spike, _steps, _rate, _rates, _find, _profile))(rng)


def _hold(rng: random.Random) -> Written:
    users, step = _users(rng)
    text, seconds = _duration(rng)
    return Written(f"{rng.choice(('', 'hold ', 'hold  '))}{users}{_separator(rng)}{text}", [(*step, seconds, "hold")])


def _ramp(rng: random.Random) -> Written:
    users, step = _users(rng)
    text, seconds = _duration(rng)
    return Written(f"ramp {rng.choice(('', 'to '))}{users}{_separator(rng)}{text}", [(*step, seconds, "ramp")])


def _spike(rng: random.Random) -> Written:
    users, step = _users(rng)
    text, seconds = _duration(rng)
    back = (0, Fraction(-1), seconds, "back")
    return Written(f"spike {users}{_separator(rng)}{text}", [(*step, seconds, "spike"), back])


def _steps(rng: random.Random) -> Written:
    first, last, by = _range(rng, 0)
    text, seconds = _duration(rng)
    counts = []
    users = first
    while users <= last if first <= last else users >= last:
        counts.append(users)
        users += by if first <= last else -by
    each = rng.choice(("", "each "))
    return Written(f"steps {first}..{last} by {by} {each}{text}", [(users, Fraction(-1), seconds, "hold") for users in counts])


def _range(rng: random.Random, least: int) -> tuple[int, int, int]:
    """The first and the last value, and a step that does not exceed their difference unless they are equal."""
    first, last = rng.randint(least, 300), rng.randint(least, 300)
    widths = [by for by in (1, 5, 20, 250) if by <= abs(last - first) or last == first]
    return first, last, rng.choice(widths)


def _rate(rng: random.Random) -> Written:
    """A hold, ramp or spike of a rate, or of a share of the capacity."""
    word, kind = rng.choice((("", "hold"), ("rate ", "hold"), ("hold ", "hold"), ("ramp to ", "ramp"), ("spike ", "spike")))
    text, seconds = _duration(rng)
    if rng.random() < 0.3:
        percent = rng.randint(1, 1_000)
        load, step = f"{percent}% {rng.choice(('', 'of the '))}capacity", (0, Fraction(percent), seconds, kind, Fraction(0))
    else:
        rate = Fraction(rng.randint(1, 4_000), 4)
        load, step = f"{float(rate):g}{rng.choice(('/s', ' / s'))}", (0, Fraction(-1), seconds, kind, rate)
    back: list[Expected] = [(0, Fraction(-1), seconds, "back")] if kind == "spike" else []
    return Written(f"{word}{load}{_separator(rng)}{text}", [step, *back])


def _rates(rng: random.Random) -> Written:
    first, last, by = _range(rng, 1)
    text, seconds = _duration(rng)
    found = range(first, last + 1, by) if first <= last else range(first, last - 1, -by)
    unit = rng.choice(("", "/s"))
    steps = [(0, Fraction(-1), seconds, "hold", Fraction(rate)) for rate in found]
    return Written(f"rates {first}{unit}..{last}{unit} by {by} {text}", steps)


def _find(rng: random.Random) -> Written:
    kind = rng.choice(("find", "verify"))
    return Written(f"{kind} {rng.choice(('knee', 'the  knee'))}", [(0, Fraction(-1), Fraction(0), kind)])


def _profile(rng: random.Random) -> Written:
    seconds = rng.randint(2, 60)
    return Written(
        f"profile {rng.choice(('', 'for '))}{seconds}{rng.choice(('', 's', ' s'))}",
        [(0, Fraction(-1), Fraction(seconds), "profile")],
    )


def _loop(rng: random.Random, depth: int) -> Written:
    """A loop, its expected steps cut off one step beyond the limit, which is enough for a refusal."""
    inner, times = _plan(rng, depth + 1), rng.choice((1, 2, 3, 50))
    return Written(f"loop {times} ({inner.text})", (list(inner.steps) * times)[: STEPS_MOST + 1])


def _users(rng: random.Random) -> tuple[str, tuple[int, Fraction]]:
    """(text, (users, percent of the knee or -1))."""
    if rng.random() < 0.2:
        percent = rng.choice((Fraction(60), Fraction(125, 2), Fraction(1000), Fraction(0)))
        return f"{float(percent):g}{rng.choice(('% knee', ' % of the knee', '%knee'))}", (0, percent)
    users = rng.choice((0, 1, 7, 50, 2_000, 2_000, 2_001 if rng.random() < 0.1 else 3))
    return str(users), (users, Fraction(-1))


def _separator(rng: random.Random) -> str:
    return rng.choice((":", " ", " : ", "\t", ":  "))


def _duration(rng: random.Random) -> tuple[str, Fraction]:
    number = rng.choice(("1", "30", "0.5", "2.25", "90", "1.125", "400" if rng.random() < 0.1 else "3"))
    unit = rng.choice(list(UNITS))
    word = rng.choice(("", "", "", "for ", "over "))
    return f"{word}{number}{rng.choice(('', ' ')) if unit else ''}{unit}", Fraction(number) * UNITS[unit]

"""The plan language: `20:1m, ramp to 200 5m, loop 3 (spike 400 30s), find knee, hold 60% knee 24h`. Pure: time is passed in.

Parts, separated by commas or lines; a duration is a number with ms, s (the default), m or h:

    50:30s  hold 50 30s      50 users for exactly 30 s, counted from when all of them run
    steps 20..120 by 20 10m  20, 40, ... 120 users for 10 minutes each; steps 120..20 count down
    ramp to 200 5m           evenly from the current number to 200 over 5 minutes
    spike 200 30s            200 at once for 30 s, then at once as many as before, for 30 s too
    loop 3 (...)             the parts in brackets, three times
    find knee                the autopilot, until it has found and verified the knee
    verify                   the levels that verify the knee known by then
    60% knee                 anywhere in place of users: that share of the knee known when the step begins
    rate 200/s 30s           200 iterations offered a second for 30 s, counted from when the schedule has that rate
    rates 50..400 by 50 20s  50, 100, ... 400 a second for 20 seconds each; rates 400..50 count down
    ramp to 400/s 5m         evenly from the current rate (from users: from 0) to 400 a second
    spike 800/s 30s          800 a second at once for 30 s, then at once the load before it, for 30 s too
    60% capacity             anywhere in place of a rate: that share of the capacity known when the step begins
    profile 10s              the target's stacks are sampled for 10 s, once the load of the step before has settled

A plan has at most 10,000 characters, 10,000 steps with loops unrolled, loops nested 8 deep, and lasts at most 30 days.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Literal

import msgspec

from ..errors import InputError
from ..model.load import NO_LOAD, RATE_LEAST_PER_S, RATE_MOST_PER_S, Load, Rate, Users
from ..toml import shown

_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}
_SHARE = r"(?P<{}>\d+(?:\.\d+)?)\s*%\s*(?:of\s+)?(?:the\s+)?{}"
_USERS = rf"(?:(?P<users>\d+)|{_SHARE.format('knee_percent', 'knee')})"
_RATE = rf"(?:(?P<rate>\d+(?:\.\d+)?)\s*/\s*s|{_SHARE.format('capacity_percent', 'capacity')})"
_LOAD = rf"(?:{_USERS}|{_RATE})"
_DURATION = r"(?:(?:for|over)\s+)?(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h)?"
_FIRST_RATE, _LAST_RATE, _BY_RATE = (rf"(?P<{name}>\d+(?:\.\d+)?)(?:\s*/\s*s)?" for name in ("first", "last", "by"))
_FORMS = {
    kind: re.compile(pattern, re.ASCII | re.DOTALL)
    for kind, pattern in (
        ("hold", rf"(?:hold\s+)?{_LOAD}\s*[:\s]\s*{_DURATION}"),
        ("ramp", rf"ramp\s+(?:to\s+)?{_LOAD}\s*[:\s]\s*{_DURATION}"),
        ("spike", rf"spike\s+(?:to\s+)?{_LOAD}\s*[:\s]\s*{_DURATION}"),
        ("steps", rf"steps\s+(?P<first>\d+)\s*\.\.\s*(?P<last>\d+)\s+by\s+(?P<by>\d+)\s*[:\s]\s*(?:each\s+)?{_DURATION}"),
        ("rate", rf"rate\s+{_RATE}\s*[:\s]\s*{_DURATION}"),
        ("rates", rf"rates\s+{_FIRST_RATE}\s*\.\.\s*{_LAST_RATE}\s+by\s+{_BY_RATE}\s*[:\s]\s*(?:each\s+)?{_DURATION}"),
        ("find", r"find\s+(?:the\s+)?knee"),
        ("verify", r"verify(?:\s+(?:the\s+)?knee)?"),
        ("profile", rf"profile\s+{_DURATION}"),
        ("loop", r"loop\s+(?P<times>\d+)\s*\((?P<parts>.*)\)"),
    )
}
_EXAMPLES = {
    "hold": "`hold 50 30s`, or `hold 200/s 30s`",
    "ramp": "`ramp to 200 5m`, or `ramp to 400/s 5m`",
    "spike": "`spike 200 30s`, or `spike 800/s 30s`",
    "steps": "`steps 20..120 by 20 10m`",
    "rate": "`rate 200/s 30s`",
    "rates": "`rates 50..400 by 50 20s`",
    "profile": "`profile 10s`",
    "loop": "`loop 3 (...)`",
}
"""By the first word of a part."""

STEPS_MOST = 10_000
"""Most steps of a whole plan with loops unrolled: nested loops must not fill the memory."""
CHARACTERS_MOST = 10_000
LOOPS_DEEP_MOST = 8
DIGITS_MOST = 18
"""Most digits of one number: with more, the length of a range may exceed 64 bits."""
DAYS_MOST = 30
PROFILE_LEAST_S, PROFILE_MOST_S = 2.0, 60.0
"""Bounds of `profile`: with fewer seconds the rarest waits are chance, with more the sampled stacks fill the memory."""
_DAY_S = 86_400


class Share(msgspec.Struct, frozen=True):
    """A share of the knee or of the capacity that is known when the step begins: users, or a rate."""

    of: Literal["knee", "capacity"]
    share: float


class Step(msgspec.Struct, frozen=True):
    """A load, and how long it lasts, from when all users run or the schedule has the rate."""

    load: Load | Share
    """No load in a step that says nothing of it."""
    hold_s: float
    kind: Literal["hold", "ramp", "spike", "back", "find", "verify", "profile", "explain"] = "hold"
    """`ramp`: evenly over `hold_s`. `spike`: at once. `back`: at once to the load before the spike. `find`, `verify`, `explain`:
    by the autopilot; the last, experiments at the knee, is in no text. `profile`: stacks are sampled for `hold_s` at the load of
    the step before."""

    @property
    def is_autopilots(self) -> bool:
        """Whether the autopilot carries out this step, without a fixed duration."""
        return self.kind in ("find", "verify", "explain")

    @property
    def is_timed(self) -> bool:
        """Whether it ends after `hold_s`; else whoever carries it out says when it has ended."""
        return not self.is_autopilots and self.kind != "profile"

    @property
    def needs(self) -> Literal["knee", "capacity"] | None:
        """What must have been found before it can begin."""
        return "knee" if self.kind == "verify" else self.load.of if isinstance(self.load, Share) else None


def parse(text: str, where: str, max_users: int) -> tuple[Step, ...]:
    """The steps of a plan, with its loops unrolled. `where` names the option or key in messages. Raises InputError with one
    line that says what was expected.
    """
    _check_size(text, where)
    steps = tuple(_unrolled(_with_single_spaces(text), where))
    for step in steps:
        match step.load:
            case Users(users) if users > max_users:
                raise InputError(f"{where}: {users} users exceed guards.max_users ({max_users})")
            case Rate(per_s) if per_s and not RATE_LEAST_PER_S <= per_s <= RATE_MOST_PER_S:
                expected = f"expected rates of {RATE_LEAST_PER_S:g} to {RATE_MOST_PER_S:,.0f} a second"
                raise InputError(f"{where}: {expected}, got {per_s:,.10g}/s")
    days = math.fsum(step.hold_s for step in steps) / _DAY_S
    if days > DAYS_MOST:
        raise InputError(f"{where}: expected at most {DAYS_MOST} days in total, got {days:,.2f} days")
    return steps


def duration_s(text: str, where: str) -> float:
    """The seconds of a duration as in a plan: `5m`. Raises InputError with one line."""
    _check_size(text, where)
    found = re.fullmatch(rf"\s*{_DURATION}\s*", text, re.ASCII)
    if found is None:
        raise InputError(f"{where}: expected a duration like `90s` or `5m`, got {shown(text)}")
    return _duration_s(found, where)


def offers_rates(steps: Iterable[Step]) -> bool:
    """Whether some of them offer a rate."""
    return any(isinstance(step.load, Rate) or step.needs == "capacity" for step in steps)


def is_text(plan: str) -> bool:
    """Whether this is the text of a plan, not the name of one."""
    return re.search(r"[\s:,(]", plan) is not None


def _check_size(text: str, where: str) -> None:
    """Checked before parsing, so that no text takes long."""
    if len(text) > CHARACTERS_MOST:
        raise InputError(f"{where}: expected at most {CHARACTERS_MOST:,} characters, got {len(text):,}")
    digits = max((len(number) for number in re.findall(r"\d+", text)), default=0)
    if digits > DIGITS_MOST:
        raise InputError(f"{where}: expected numbers of at most {DIGITS_MOST} digits, got one of {digits:,}")
    deep = max(accumulate((character == "(") - (character == ")") for character in text), default=0)
    if deep > LOOPS_DEEP_MOST:
        raise InputError(f"{where}: expected loops nested at most {LOOPS_DEEP_MOST} deep, got {deep:,}")


def _with_single_spaces(text: str) -> str:
    """One blank or one line end between words: the forms above then match in linear time."""
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[^\S\n]+", " ", text))


def _unrolled(text: str, where: str) -> list[Step]:
    steps: list[Step] = []
    parts = list(_parts(text, where))
    for index, part in enumerate(parts):
        found = _part(part, where)
        if found is None:
            raise _unknown_part(_with_commas_in_numbers(parts[index:], text), where)
        steps += found
        if len(steps) > STEPS_MOST:
            raise InputError(f"{where}: expected at most {STEPS_MOST} steps, loops unrolled")
    if not steps:
        raise _unknown_part("", where)
    return steps


def _unknown_part(part: str, where: str) -> InputError:
    """It quotes `part`, and shows the form of its first word; without one, that of a rate or of users."""
    word, without = part.partition(" ")[0], ", without a comma in the number" if "," in part and "(" not in part else ""
    by_word = _EXAMPLES.get(word) or (_EXAMPLES["rate"] if "/" in part else None)
    if word.isalpha() and any(form.fullmatch(f"{part} 1s") for form in _FORMS.values()):
        return InputError(f"{where}: expected a duration after {shown(part)}, like {shown(f'{part} 30s')}")
    if by_word is not None:
        return InputError(f"{where}: expected {by_word}{without}, got {shown(part)}")
    forms = ", ".join(_FORMS)
    return InputError(f"{where}: expected USERS:DURATION like 10:30s{without}, got {shown(part)} (there are also {forms})")


def _with_commas_in_numbers(parts: Sequence[str], text: str) -> str:
    """The first part with those after it that a comma in a number, as in `rate 1,000/s 30s`, has separated from it."""
    whole = parts[0]
    for part in parts[1:]:
        if not (re.search(r"\d$", whole) and re.match(r"\d{3}(?!\d)", part) and f"{whole},{part}" in text):
            break
        whole += f",{part}"
    return whole


def _parts(text: str, where: str) -> Iterator[str]:
    """The parts between commas and line ends that are outside of brackets."""
    depth, part = 0, ""
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth == 0 and character in ",\n":
            if part.strip() or character == ",":
                yield part.strip()
            part = ""
        else:
            part += character
        if depth < 0:
            break
    if depth:
        raise InputError(f"{where}: expected as many `(` as `)`, got {shown(text.strip())}")
    if part.strip() or "\n" not in text:
        yield part.strip()


def _part(part: str, where: str) -> list[Step] | None:
    """Its steps; None: it has no known form."""
    for kind, form in _FORMS.items():
        found = form.fullmatch(part)
        if found is not None:
            return _MEANING[kind](found, where)
    return None


def _load_step(kind: Literal["hold", "ramp", "spike"], found: re.Match[str], where: str) -> Step:
    given, hold_s = found.groupdict(), _duration_s(found, where)
    if given.get("users") is not None:
        return Step(Users(int(given["users"])), hold_s, kind)
    if given.get("rate") is not None:
        return Step(Rate(float(given["rate"])), hold_s, kind)
    of: Literal["knee", "capacity"] = "knee" if given.get("knee_percent") is not None else "capacity"
    percent = float(given[f"{of}_percent"])
    if percent > 1000:
        raise InputError(f"{where}: expected at most 1000% of the {of}, got {shown(found[0])}")
    return Step(Share(of, percent / 100), hold_s, kind)


def _duration_s(found: re.Match[str], where: str) -> float:
    seconds = float(found["number"]) * _UNIT_S[found["unit"]]
    if seconds <= 0:
        raise InputError(f"{where}: expected a duration above 0, got {shown(found[0])}")
    return seconds


def _spike(found: re.Match[str], where: str) -> list[Step]:
    up = _load_step("spike", found, where)
    return [up, Step(NO_LOAD, up.hold_s, "back")]


def _steps(found: re.Match[str], where: str) -> list[Step]:
    first, last, by = (int(found[name]) for name in ("first", "last", "by"))
    if by == 0:
        raise InputError(f"{where}: expected steps by 1 or more, got {shown(found[0])}")
    if 0 < abs(last - first) < by:
        raise InputError(f"{where}: expected steps by at most {abs(last - first)}, got {shown(found[0])}")
    hold_s = _duration_s(found, where)
    counts = range(first, last + 1, by) if last >= first else range(first, last - 1, -by)
    if len(counts) > STEPS_MOST:
        raise InputError(f"{where}: expected at most {STEPS_MOST} steps, got {shown(found[0])}")
    return [Step(Users(users), hold_s) for users in counts]


def _rates(found: re.Match[str], where: str) -> list[Step]:
    first, last, by = (Decimal(found[name]) for name in ("first", "last", "by"))
    if by == 0:
        raise InputError(f"{where}: expected rates by more than 0, got {shown(found[0])}")
    if 0 < abs(last - first) < by:
        raise InputError(f"{where}: expected rates by at most {abs(last - first)}, got {shown(found[0])}")
    hold_s, count = _duration_s(found, where), int(abs(last - first) / by) + 1
    if count > STEPS_MOST:
        raise InputError(f"{where}: expected at most {STEPS_MOST} steps, got {shown(found[0])}")
    signed = by if last >= first else -by
    return [Step(Rate(float(first + signed * index)), hold_s) for index in range(count)]


def _profile(found: re.Match[str], where: str) -> list[Step]:
    seconds = _duration_s(found, where)
    if not PROFILE_LEAST_S <= seconds <= PROFILE_MOST_S:
        raise InputError(f"{where}: expected a profile of {PROFILE_LEAST_S:g} to {PROFILE_MOST_S:g} s, got {shown(found[0])}")
    return [Step(NO_LOAD, seconds, "profile")]


def _loop(found: re.Match[str], where: str) -> list[Step]:
    inner, times = _unrolled(found["parts"], where), int(found["times"])
    if times < 1 or times * len(inner) > STEPS_MOST:
        raise InputError(f"{where}: expected a loop of 1 to {STEPS_MOST} steps in all, got {shown(found[0])}")
    return inner * times


_MEANING: dict[str, Callable[[re.Match[str], str], list[Step]]] = {
    "hold": lambda found, where: [_load_step("hold", found, where)],
    "ramp": lambda found, where: [_load_step("ramp", found, where)],
    "spike": _spike,
    "steps": _steps,
    "rate": lambda found, where: [_load_step("hold", found, where)],
    "rates": _rates,
    "find": lambda found, where: [Step(NO_LOAD, 0.0, "find")],
    "verify": lambda found, where: [Step(NO_LOAD, 0.0, "verify")],
    "profile": _profile,
    "loop": _loop,
}


# -- plan start ----------------------------------------------------------------------------------------------------------------
# Whether a plan can begin a run. Pure. A plan that is started later may find load, and a knee or a capacity, that it needs.


def check_start(steps: Sequence[Step], where: str) -> None:
    """Check a plan that begins a run: no load runs, and nothing has been measured. Raises InputError: a step begins from a knee
    or a capacity that no step before it can show, or no step makes load.
    """
    shown_by_then: set[str] = set()
    for step in steps:
        if step.needs is not None and step.needs not in shown_by_then:
            levels = "`find knee` or levels of users" if step.needs == "knee" else "levels of rates"
            raise InputError(
                f"{where}: expected {levels} before the step that needs the {step.needs}, which is not known at the start"
            )
        if step.kind == "profile" and not shown_by_then:
            raise InputError(f"{where}: expected users or a rate before `profile`, which samples stacks under the load before it")
        if step.kind == "find" or (isinstance(step.load, Users) and not step.load.is_zero):
            shown_by_then.add("knee")
        elif isinstance(step.load, Rate) and not step.load.is_zero:
            shown_by_then.add("capacity")
    if steps and not shown_by_then:
        raise InputError(f"{where}: expected users or a rate above 0 in some step, got none: the plan makes no load")

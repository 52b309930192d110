"""Tables of scored sessions by family, and two scores of the same sessions compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from lab.kit.tables import filled, table

from .stated import Header, Line

CONFIDENCES = ("high", "medium", "low")

# -- one score -----------------------------------------------------------------------------------------------------------------


def report(lines: Sequence[Line]) -> str:
    head = (
        "family", "sessions", "false", "due", "found of due", "10%", "15%", "25%", "median error", "covered", "half width",
        "limit", "forbidden", "verified", "wrong of these", "s to first", "right", "verified", "end",
    )  # fmt: skip
    groups = by_family(lines)
    rows = [(name, *cells(of_it)) for name, of_it in [*groups.items(), ("all", lines)]]
    said = Counter(what for each in lines for what in each.wrongly_said)
    found = ", ".join(f"{what} {count}" for what, count in said.most_common()) or "none"
    return "\n\n".join((table(head, rows, "lr"), confidences(lines), f"Forbidden statements: {found}.", false_ones(lines)))


def by_family(lines: Iterable[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for each in lines:
        found.setdefault(each.family, []).append(each)
    return found


def cells(lines: Sequence[Line]) -> tuple[str, ...]:
    due, errors = [each for each in lines if each.due], [each.error for each in lines if each.error is not None and each.knees]
    verified = [each for each in lines if each.verified]
    return (
        str(len(lines)),
        str(sum(each.is_false for each in lines)),
        str(len(due)),
        percent(each.is_found and not each.is_false for each in due),
        *(percent(error <= bound for error in errors) for bound in (0.10, 0.15, 0.25)),
        middle(errors, ".1%"),
        percent(each.covers for each in lines if each.covers is not None),
        middle([each.half_width for each in lines], ".0%"),
        percent(each.has_right_limit for each in lines if each.has_right_limit is not None),
        str(sum(bool(each.wrongly_said) for each in lines)),
        str(len(verified)),
        str(sum(each.is_false for each in verified)),
        *(middle([getattr(each, name) for each in lines], ".0f") for name in ("first_s", "right_s", "verified_s", "ended_s")),
    )


def confidences(lines: Sequence[Line]) -> str:
    """How often knees of each confidence are right within 10%."""
    found = [each for each in lines if each.is_found]
    groups = {word: [each for each in found if each.confidence == word] for word in CONFIDENCES}
    groups |= {f"{word}, verified": [each for each in groups[word] if each.verified] for word in CONFIDENCES}
    rows = []
    for name, chosen in groups.items():
        near = percent((each.error or 0.0) <= 0.10 for each in chosen)
        rows.append((name, len(chosen), near, middle([each.half_width for each in chosen], ".0%")))
    return table(("confidence", "knees", "within 10%", "half width"), rows, "lr")


def false_ones(lines: Sequence[Line]) -> str:
    """Each session with a false knee or a forbidden statement."""
    return "\n".join(map(_in_words, (each for each in lines if each.is_wrong)))


def _in_words(line: Line) -> str:
    what = ", ".join((*["false"] * line.is_false, *line.wrongly_said))
    return f"- {line.family} {line.seed}: {what}; true {truth(line)}: {line.sentence}"


def truth(line: Line) -> str:
    ends = (f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}" for low, high in line.knees)
    return " and ".join(ends) or "none"


def percent(hits: Iterable[bool | None]) -> str:
    known = [bool(each) for each in hits]
    return f"{sum(known) / len(known):.0%}" if known else "–"


def middle(values: Iterable[float | None], form: str) -> str:
    known = [each for each in values if each is not None]
    return f"{median(known):{form}}" if known else "–"


# -- the page ------------------------------------------------------------------------------------------------------------------

EXPLORED = ("ladder", "autopilot", "ramp", "rates", "rate-autopilot", "rate-ramp", "moving-rates", "moving")
"""How families are explored: the first words of their names."""
WORST = 8
"""Number of families that the page names."""


def page(header: Header, lines: Sequence[Line]) -> str:
    """docs/population.md."""
    ways: dict[str, list[Line]] = {}
    for each in lines:
        ways.setdefault(next(way for way in EXPLORED if each.family.startswith(f"{way}-")), []).append(each)
    families = by_family(lines)
    worst = sorted(families.items(), key=lambda each: badness(each[1]), reverse=True)[:WORST]
    head = ("family", "sessions", "false", "found of due", "wrong words")
    rows = [(name, len(of_it), sum(each.is_false for each in of_it), *_missed(of_it)) for name, of_it in worst]
    return filled(
        "population",
        sessions=f"{len(lines):,}",
        families=len(families),
        commit=header.commit,
        seeds=f"{header.seeds[0]:,} to {header.seeds[1] - 1:,}",
        ways=table(WAYS, [(name, *short_cells(of_it)) for name, of_it in [*ways.items(), ("all", lines)]], "lr"),
        confidences=confidences(lines),
        worst=table(head, rows, "lr"),
    )


WAYS = (
    "explored", "sessions", "false", "found of due", "10%", "error", "held", "width", "limit", "wrong words", "first", "verified",
)  # fmt: skip


def short_cells(lines: Sequence[Line]) -> tuple[str, ...]:
    sessions, false, _, found, ten, _, _, error, held, width, limit, words, _, _, first, _, verified, _ = cells(lines)
    return sessions, false, found, ten, error, held, width, limit, words, first, verified


def badness(lines: Sequence[Line]) -> float:
    """Share of sessions with a false knee or wrong words, and a tenth of the share of knees that are due and not found."""
    due = [each for each in lines if each.due]
    missed = sum(not each.is_found for each in due) / len(due) if due else 0.0
    return sum(each.is_wrong for each in lines) / len(lines) + missed / 10


def _missed(lines: Sequence[Line]) -> tuple[str, str]:
    due = [each for each in lines if each.due]
    words = Counter(what for each in lines for what in each.wrongly_said)
    listed = ", ".join(f"{what.replace('_', ' ')} {count}" for what, count in words.most_common())
    return f"{sum(each.is_found and not each.is_false for each in due)} of {len(due)}", listed or "–"


# -- two scores ----------------------------------------------------------------------------------------------------------------

YES_OR_NO: Mapping[str, Callable[[Line], bool | None]] = {
    "false knee": lambda each: each.is_false,
    "due knee found": lambda each: (each.is_found and not each.is_false) if each.due else None,
    "within 10%": lambda each: None if each.error is None else each.error <= 0.10,
    "within 15%": lambda each: None if each.error is None else each.error <= 0.15,
    "interval holds it": lambda each: each.covers,
    "limit right": lambda each: each.has_right_limit,
    "forbidden statement": lambda each: bool(each.wrongly_said),
    "verified": lambda each: each.verified,
    "high confidence": lambda each: each.confidence == "high" if each.is_found else None,
}
"""None: the figure does not apply, and a session counts where it does in both scores."""

AMOUNTS: Mapping[str, Callable[[Line], float | None]] = {
    "error": lambda each: each.error if each.error != math.inf else None,
    "half width": lambda each: each.half_width,
    "s to first": lambda each: each.first_s,
    "s to right": lambda each: each.right_s,
    "s to verified": lambda each: each.verified_s,
}

Pair = tuple[Line, Line]


def compare(old: Sequence[Line], new: Sequence[Line]) -> str:
    """Figures of the sessions that are in both: what each gained and lost, and how likely by chance."""
    pairs = pairs_of(old, new)
    changed = [(was, now) for was, now in pairs if stated(was) != stated(now)]
    parts = [f"{len(pairs)} sessions of both, {len(changed)} changed; {len(old)} old and {len(new)} new ones."]
    rows = compared_rows(old, new)
    parts.append(table(("family", *FIGURES), [row for row in rows if row[0] == "all" or row[5] or row[6]], "llr"))
    parts.append(
        "\n".join(
            f"- {now.family} {now.seed}, true {truth(now)}\n  - {was.sentence}\n  - {now.sentence}" for was, now in worse(changed)
        )
    )
    return "\n\n".join(each for each in parts if each)


FIGURES = ("figure", "sessions", "old", "new", "only new", "only old", "p")


def pairs_of(old: Sequence[Line], new: Sequence[Line]) -> list[Pair]:
    before = {(each.family, each.seed): each for each in old}
    return [(before[each.family, each.seed], each) for each in new if (each.family, each.seed) in before]


def compared_rows(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[object, ...]]:
    """`compared` of all sessions, then of each family, whose name comes first."""
    pairs = pairs_of(old, new)
    groups = {"all": pairs}
    for pair in pairs:
        groups.setdefault(pair[1].family, []).append(pair)
    return [(name, *row) for name, of_it in groups.items() for row in compared(of_it)]


def compared(pairs: Sequence[Pair]) -> Iterable[tuple[str, int, str, str, int, int, str]]:
    """(figure, sessions, old, new, sessions of only new, only old, p). Amounts: `only new` are those that became smaller."""
    for name, of in YES_OR_NO.items():
        known = [(was, now) for was, now in ((of(was), of(now)) for was, now in pairs) if was is not None and now is not None]
        gained, lost = sum(now and not was for was, now in known), sum(was and not now for was, now in known)
        yield (
            name,
            len(known),
            str(sum(was for was, _ in known)),
            str(sum(now for _, now in known)),
            gained,
            lost,
            chance(gained, lost),
        )
    for name, amount in AMOUNTS.items():
        figures = [(amount(was), amount(now)) for was, now in pairs]
        both = [(was, now) for was, now in figures if was is not None and now is not None]
        less, more = (sum(1 for was, now in both if sign * (was - now) > 1e-9) for sign in (1, -1))
        form = ".1f" if name.startswith("s ") else ".1%"
        was, now = middle([was for was, _ in both], form), middle([now for _, now in both], form)
        yield f"{name} (less, more)", len(both), was, now, less, more, chance(less, more)


def chance(one: int, other: int) -> str:
    """Two-sided probability of at least as uneven a split of equally likely changes (McNemar's exact test, a sign test)."""
    both = one + other
    if not both:
        return "–"
    tail = sum(math.comb(both, count) for count in range(min(one, other) + 1)) / 2**both
    return f"{min(1.0, 2 * tail):.3f}"


def stated(line: Line) -> tuple[object, ...]:
    return line.kind, line.load, line.low, line.high, line.confidence, line.verified, line.limit, line.said


def worse(pairs: Sequence[Pair]) -> list[Pair]:
    """Sessions of which a false knee or a forbidden statement is new, or whose knee is lost."""
    return [
        (was, now)
        for was, now in pairs
        if (now.is_false and not was.is_false)
        or set(now.wrongly_said) - set(was.wrongly_said)
        or (was.is_found and not was.is_false and not now.is_found)
    ]

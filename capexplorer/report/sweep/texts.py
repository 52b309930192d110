"""The sentence about a sweep, and its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ... import wording
from ...model.sweep import SettingResult
from ...wording import numbers, quantities
from ...wording.next_step import RATE_ENDS, TROUBLES
from ..compare.difference import Difference
from ..compare.sentences import interval
from ..tables import Table
from .findings import Row, SweepFindings, capacity_difference

LISTED_MOST = 3
"""Settings that are listed in a sentence; the table has all."""


def sentence(found: SweepFindings) -> str:
    """What matters: which setting is enough, what more of it brings, which have less, and what is not known."""
    return " ".join(f"{_upper_first(each)}." for each in _clauses(found))


def _upper_first(clause: str) -> str:
    """With a capital letter, unless it begins with the name of a parameter."""
    return clause if "=" in clause.partition(" ")[0] else f"{clause[:1].upper()}{clause[1:]}"


def _clauses(found: SweepFindings) -> Iterator[str]:
    best, rows = found.best, found.rows
    known = [row for row in rows if row.is_known and row is not best]
    undecided = [row for row in known if not row.is_lower and not row.is_enough]
    least = [row for row in rows if row.is_compared and not row.is_known and row is not best]
    if best is None and any(row.per_s for row in rows):
        yield "no settings can be compared"
    elif best is None:
        yield "no setting has a capacity yet"
    else:
        yield ("where a limit was reached, " if least and best.is_known else "") + _lead(
            best, found.enough, is_sure=not undecided
        )
    for words, which in (
        ("less", sorted((row for row in known if row.is_lower), key=lambda row: -row.per_s)),
        ("no sure difference", undecided),
    ):
        if which:
            yield f"{words}: {_listed([f'{row.name} {_percent(row.against_best)}' for row in which])}"
    if least:
        yield f"no limit was reached: {_listed([f'{row.name} {capacity(row)}' for row in least])}"
    for words, names in _not_compared(rows):
        yield f"{words}: {_listed(names)}"
    if any(row.is_compared and row.result is not None and row.result.are_others_busy for row in rows):
        yield "other processes were busy meanwhile: repeat what matters on a quiet machine"


def _lead(best: Row, enough: Sequence[Row], *, is_sure: bool) -> str:
    if not enough:
        return f"{best.name} made the most, {capacity(best)}, and reached no limit"
    first = enough[0]
    if len(enough) > 1:
        return f"the most is reached with {_listed([f'{row.name} ({capacity(row)})' for row in enough])}"
    if first.params == best.params:
        return f"{best.name} {'is the best' if is_sure else 'made the most'}: {capacity(best)}"
    more = _percent(capacity_difference(first, best))
    return f"{first.name} is enough, {capacity(first)}: {best.name} brings {more}, {capacity(best)}"


def _not_compared(rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    """(why, settings with their capacities) of those that are compared with none."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if not row.is_compared:
            figure = f" ({capacity(row)})" if row.per_s else ""
            found.setdefault(_why_not_compared(row.result), []).append(f"{row.name}{figure}")
    yield from found.items()


def _why_not_compared(result: SettingResult | None) -> str:
    if result is None:
        return "not explored"
    if result.ended == "failed":
        return "did not run"
    if result.is_contradicted:
        return "contradicted by later levels, so not compared"
    return "disturbed by other processes, so not compared" if result.is_disturbed else "without a capacity"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - LISTED_MOST
    return ", ".join(names[:LISTED_MOST]) + (f" and {more} more" if more > 0 else "")


def capacity(row: Row) -> str:
    """`151/s [147–155]`; `at least 98/s`."""
    if row.result is None or row.result.per_s is None:
        return numbers.MISSING
    bounds = row.interval_per_s
    if row.result.is_least:
        return f"at least {quantities.rate(row.per_s)}"
    between = "" if bounds is None else f" [{numbers.number(bounds[0])}–{numbers.number(bounds[1])}]"
    return f"{quantities.rate(row.per_s)}{between}"


def _percent(one: Difference | None) -> str:
    """`-48% [-51% to -45%]`."""
    return numbers.MISSING if one is None or one.ratio is None else f"{numbers.brief_percent(one.ratio)}{interval(one.interval)}"


_ENDS = {
    "done": "",
    "gave_up": "gave up",
    "budget": "its time was spent",
    "stop_rule": "a limit of [stop] was exceeded",
    "failed": "failed",
    "taken_over": "the load was changed by hand",
}


def table(found: SweepFindings) -> Table:
    """One row a setting."""
    knee = () if found.finds_rate else ("knee, users",)
    titles = ("setting", *knee, "capacity", "against the best", "p95", "limit", "confidence", "remarks")
    return Table(titles, [_cells(row, found) for row in found.rows], words=(0, len(titles) - 3, len(titles) - 2, len(titles) - 1))


def lines(found: SweepFindings) -> list[str]:
    """The table for a terminal. Limits and remarks, which are long, are in lines below it."""
    whole = table(found)
    rows = [(*cells, sure) for *cells, _, sure, _ in (whole.titles, *whole.rows)]
    below = [
        (name, [each for each in (limit, remarks) if each not in ("", numbers.MISSING)])
        for name, *_, limit, _, remarks in whole.rows
    ]
    narrow = Table(rows[0], rows[1:], words=(0, len(rows[0]) - 1))
    return [*narrow.lines(), "", *(f"{name}: {'; '.join(notes)}" for name, notes in below if notes)]


def _cells(row: Row, found: SweepFindings) -> tuple[str, ...]:
    result, is_best = row.result, row is found.best
    knee = () if found.finds_rate else (_knee(row),)
    if result is None:
        return row.name, *knee, *[numbers.MISSING] * 5, "not explored"
    against = "best" if is_best else _percent(row.against_best) if row.is_known else numbers.MISSING
    return (
        row.name,
        *knee,
        capacity(row),
        against,
        _p95(result, found),
        _limit(result),
        _confidence(result),
        "; ".join(_remarks(row, found)),
    )


def _knee(row: Row) -> str:
    found = row.result.knee if row.result is not None else None
    match found.kind if found is not None else None:
        case None:
            return numbers.MISSING
        case "knee":
            assert found is not None
            return f"{numbers.users(found.users)} {numbers.interval(found.users_low, found.users_high)}"
        case kind:
            assert found is not None
            words = {"at_or_below": "at or below ", "no_knee": "none up to ", "bend": "bends from "}
            return f"{words.get(kind, '')}{numbers.users(found.users)}"


def _p95(result: SettingResult, found: SweepFindings) -> str:
    if result.p95_ms is None or result.p95_at is None:
        return numbers.MISSING
    load = quantities.offered_rate(result.p95_at) if found.finds_rate else numbers.counted(result.p95_at)
    return f"{quantities.latency(result.p95_ms)} at {load}"


def _limit(result: SettingResult) -> str:
    if result.limit is not None:
        return wording.name(result.limit)
    known = result.knee.limit if result.knee is not None else result.rates.limit if result.rates is not None else None
    return (known or numbers.MISSING).replace("_", " ")


def _confidence(result: SettingResult) -> str:
    verified = wording.verified(result.knee) if result.knee is not None else ""
    return ", ".join(filter(None, (result.confidence, verified))) or numbers.MISSING


def _remarks(row: Row, found: SweepFindings) -> Iterator[str]:
    result = row.result
    assert result is not None
    if any(row.params == each.params for each in found.enough) and row is not found.best:
        yield "enough"
    if row.is_known and not row.is_lower and not row.is_enough:
        yield "no sure difference"
    if result.ended != "done":
        yield ": ".join(filter(None, ("not ended" if result.ended is None else _ENDS[result.ended], _why(result))))
    if result.invalid is not None:
        yield f"{wording.name(result.invalid)}: only levels without it count"
    if result.is_disturbed:
        yield "other processes used the CPU: not compared"
    elif result.disturbed_levels:
        yield f"{numbers.several(result.disturbed_levels, 'level')} of {result.levels} disturbed"
    elif result.are_others_busy:
        yield "other processes were busy"


def _why(result: SettingResult) -> str:
    return {**TROUBLES, **RATE_ENDS}.get(result.why, result.why) if result.ended == "gave_up" else result.why

"""docs/benchmark-knees.md and its picture, from the results."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from html import escape

from lab.kit.record import RESULTS
from lab.kit.runs import ROOT
from lab.kit.tables import filled, number, table

from .exploration import Exploration

PAGE = ROOT / "docs" / "benchmark-knees.md"
PICTURE = ROOT / "docs" / "pictures" / "benchmark-knees.svg"

NEAR = 0.15


class Totals:
    """Totals of one finder. Still services with a knee count for all but the last two, pairs of false knees and explorations."""

    def __init__(self, finder: str, rows: Sequence[Exploration]) -> None:
        still = [row for row in rows if "," not in row.service and row.knees]
        covered = [row.covered for row in still if row.covered is not None]
        self.finder, self.intervals = finder, len(covered)
        self.error = _median([row.error for row in still])
        self.near_ratio = _ratio([row.error is not None and row.error <= NEAR for row in still])  # none found: missed
        self.covered_ratio = _ratio(covered)
        self.width = _median([row.width for row in still])
        self.seconds = _median([row.seconds for row in still])
        self.most = _median([row.most_load / max(row.knees) for row in still])
        self.overload_s = _median([row.overload_s for row in still])
        self.false_still = _false([row for row in rows if "," not in row.service and not row.knees])
        self.false_moving = _false([row for row in rows if "," in row.service])


def totals(rows: Sequence[Exploration]) -> list[Totals]:
    """Of each finder, those first that found most knees."""
    names = dict.fromkeys(row.finder for row in rows)
    found = [Totals(name, [row for row in rows if row.finder == name]) for name in names]
    return sorted(found, key=lambda each: -(each.near_ratio or 0.0))


def _false(rows: Sequence[Exploration]) -> tuple[int, int]:
    return sum(row.is_false for row in rows), len(rows)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _ratio(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


COLUMNS = ("finder", "error", "in 15%", "intervals", "width", "seconds", "most load", "overload")


def write(simulated: Sequence[Exploration], rates: Sequence[Exploration], live: Sequence[Exploration]) -> None:
    page, picture = pages(simulated, rates, live)
    PAGE.write_text(page, encoding="utf-8")
    PICTURE.write_text(picture, encoding="utf-8")


def pages(simulated: Sequence[Exploration], rates: Sequence[Exploration], live: Sequence[Exploration]) -> tuple[str, str]:
    page = filled(
        "benchmark-knees",
        simulated_run=_made("knees-simulated"),
        simulated=_table(totals(simulated)),
        rates_run=_made("knees-rates"),
        rates=_table(totals(rates)),
        live_run=_made("knees-live") + _shared(live),
        live=_table(totals(live)),
    )
    return page, draw(totals(simulated))


def _made(name: str) -> str:
    made = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    load = " to ".join(f"{each:g}" for each in made["load_average_1m"])
    return (
        f"`{made['command']}`, commit {made['commit']}, {made['started_at'][:10]}, {made['took_s']} s on {made['cpus']} cores,"
        f" load average {load}, steal {made['steal_s']} s."
    )


def _shared(rows: Sequence[Exploration]) -> str:
    """How much of the machine others had in each round: the greatest load average, and the mean steal of an exploration."""
    rounds = {
        number: (max(row.load_average or 0.0 for row in of_it), sum(row.steal_s or 0.0 for row in of_it) / len(of_it))
        for number in sorted({row.seed for row in rows})
        if (of_it := [row for row in rows if row.seed == number])
    }
    each = "; ".join(f"{load:.0f}, {steal_s:.1f} s" for load, steal_s in rounds.values())
    return f" Load average and steal of each round: {each}."


def _table(found: Sequence[Totals]) -> str:
    rows = [
        (
            each.finder,
            number(each.error, ".0%"),
            number(each.near_ratio, ".0%"),
            f"{number(each.covered_ratio, '.0%')} of {each.intervals}" if each.intervals else "none",
            number(each.width, ".0%"),
            number(each.seconds, ".3g"),
            number(each.most, ".3g"),
            f"{number(each.overload_s, '.3g')} s",
            each.false_still[0],
            each.false_moving[0],
        )
        for each in found
    ]
    head = (f"false, still of {found[0].false_still[1]}", f"moving of {found[0].false_moving[1]}")
    return table((*COLUMNS, *head), rows, "lr")


LEFT, WIDTH, ROW, TOP = 240, 300, 34, 56
GOOD, BAD, TEXT = "#2b7a4b", "#b3372f", "#1f2328"


def draw(rows: Sequence[Totals]) -> str:
    width, height = LEFT + 2 * WIDTH + 130, TOP + ROW * len(rows) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' font-family="sans-serif" font-size="13" fill="{TEXT}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" font-weight="bold">knees within 15% of N*</text>',
        f'<text x="{LEFT + WIDTH + 70}" y="24" font-weight="bold">false knees, moving services</text>',
    ]
    for index, row in enumerate(rows):
        y = TOP + ROW * index
        of = row.false_moving[1]
        parts += [
            f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(row.finder)}</text>',
            *_bar(LEFT, y, row.near_ratio, GOOD),
            *_bar(LEFT + WIDTH + 70, y, row.false_moving[0] / of if of else None, BAD),
        ]
    return "\n".join([*parts, "</svg>", ""])


def _bar(x: int, y: int, ratio: float | None, colour: str) -> list[str]:
    if ratio is None:
        return [f'<text x="{x}" y="{y + 15}">not measured</text>']
    length = round(WIDTH * ratio)
    return [
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="20" fill="#eef0f2"/>',
        f'<rect x="{x}" y="{y}" width="{length}" height="20" fill="{colour}"/>',
        f'<text x="{x + WIDTH + 8}" y="{y + 15}">{ratio:.0%}</text>',
    ]

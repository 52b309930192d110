"""docs/benchmark-knees.md and its picture, from the results."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from html import escape

from lab.kit.record import RESULTS
from lab.kit.runs import ROOT
from lab.kit.tables import filled, number, table

from .exploration import AUTOPILOT, Exploration
from .finders import POLICIES

PAGE = ROOT / "docs" / "benchmark-knees.md"
PICTURE = ROOT / "docs" / "pictures" / "benchmark-knees.svg"

NEAR = 0.15


class Totals:
    """Totals of one finder. Still services with a knee count for all but the last two, pairs of false knees and explorations."""

    def __init__(self, finder: str, rows: Sequence[Exploration]) -> None:
        still = [row for row in rows if "," not in row.service and row.knees]
        errors = [row.error for row in still if row.error is not None]
        covered = [row.covered for row in still if row.covered is not None]
        self.finder, self.intervals = finder, len(covered)
        self.error_median = _median(errors)
        self.near_ratio = sum(error <= NEAR for error in errors) / len(still) if still else None  # none found: missed
        self.covered_ratio = sum(covered) / len(covered) if covered else None
        self.seconds_median = _median([row.seconds for row in still])
        self.overload_median_s = _median([row.overload_s for row in still])
        self.most_median = _median([row.most_users / max(row.knees) for row in still])
        self.false_still = _false([row for row in rows if "," not in row.service and not row.knees])
        self.false_moving = _false([row for row in rows if "," in row.service])


def false_by_service(rows: Sequence[Exploration]) -> dict[str, tuple[int, int]]:
    """(false knees, explorations) by kind of moving service."""
    names = sorted({row.service for row in rows if "," in row.service})
    return {name: _false([row for row in rows if row.service == name]) for name in names}


def _false(rows: Sequence[Exploration]) -> tuple[int, int]:
    return sum(row.is_false for row in rows), len(rows)


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


COLUMNS = ("finder", "error", "in 15%", "intervals", "seconds", "most users", "overload", "false, still", "false, moving")


def write(simulated: Sequence[Exploration], live: Sequence[Exploration]) -> None:
    page, picture = pages(simulated, live)
    PAGE.write_text(page, encoding="utf-8")
    PICTURE.write_text(picture, encoding="utf-8")


def pages(simulated: Sequence[Exploration], live: Sequence[Exploration]) -> tuple[str, str]:
    page = filled(
        "benchmark-knees",
        simulated_run=_made("knees-simulated"),
        simulated=_table(_all(simulated)),
        by_kind=_by_kind(simulated),
        live_run=_made("knees-live"),
        live=_table(_all(live)),
    )
    return page, draw(_all(simulated))


def _all(rows: Sequence[Exploration]) -> list[Totals]:
    return [Totals(name, [row for row in rows if row.finder == name]) for name in (AUTOPILOT, *POLICIES)]


def _made(name: str) -> str:
    made = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    load = " to ".join(f"{each:g}" for each in made["load_average_1m"])
    return (
        f"`{made['command']}`, commit {made['commit']}, {made['started_at']}, {made['took_s']} s on {made['cpus']} cores,"
        f" load average {load}, steal {made['steal_s']} s."
    )


def _table(found: Sequence[Totals]) -> str:
    rows = [
        (
            each.finder,
            number(each.error_median, ".0%"),
            number(each.near_ratio, ".0%"),
            f"{number(each.covered_ratio, '.0%')} of {each.intervals}" if each.intervals else "none given",
            number(each.seconds_median, ".3g"),
            number(each.most_median, ".3g"),
            f"{number(each.overload_median_s, '.3g')} s",
            _count(each.false_still),
            _count(each.false_moving),
        )
        for each in found
    ]
    return table(COLUMNS, rows, "lr")


def _by_kind(rows: Sequence[Exploration]) -> str:
    found = {name: false_by_service([row for row in rows if row.finder == name]) for name in (AUTOPILOT, *POLICIES)}
    kinds = list(found[AUTOPILOT])
    return table(("finder", *kinds), [(name, *(_count(counts[kind]) for kind in kinds)) for name, counts in found.items()], "lr")


def _count(counted: tuple[int, int]) -> str:
    false, of = counted
    return f"{false} of {of}" if of else "–"


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

"""docs/experiments.md: for each of the five reports its table beside ours, what its author concluded, what was marked here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from capexplorer.report.escaping import cell

from . import records
from .five import PICTURES, Level, Repeated
from .headless import ROOT
from .reports import REPORTS, Report, Table

PAGE = ROOT / "docs" / "experiments.md"

COLUMNS = ("users", "requests", "failures", "goodput/s", "mean ms", "p95 ms", "p99 ms", "target", "generator", "host")

INTRODUCTION = """\
# The five experiments

Written by `make experiments` (the reports' own levels) or `make experiments NAMES=five-short` (a coffee break each) from
`tests/experiments/results/five.jsonl`; not by hand. Each section has a load-test report as its author typed it up, and the same
exploration here, from a real run on one machine with two cores that generator and service share. Figures differ with the machine;
the shape must not. CPU is in cores. Each run is repeated by the command above its table; the newest run of each is shown."""


def write() -> None:
    """Write the page anew from the results."""
    newest = {each.name: each for each in records.load("five", Repeated)}
    parts = [INTRODUCTION]
    for report in REPORTS.values():
        parts += _section(report, newest)
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _section(report: Report, newest: dict[str, Repeated]) -> Iterator[str]:
    yield f"## {report.title}"
    yield report.about
    yield _table(report.table)
    yield f"**What its author concluded.** {report.concluded}"
    for each in report.repeats:
        done = newest.get(each.name)
        yield from _run(done) if done is not None else [f"### Here: {each.name}\n\nNot run yet."]
    if report.compare is not None:
        a, b = report.compare
        yield f"### {a} beside {b}"
        yield _table(tuple(_beside(newest.get(a), newest.get(b), a, b)))


def _run(done: Repeated) -> Iterator[str]:
    yield f"### Here: {done.name}"
    yield f"```\n{done.command}\n```"
    yield _table((COLUMNS, *map(_row, done.levels)))
    if (PICTURES / f"{done.name}.svg").is_file():
        yield f"![{done.name}: the capacity curve](pictures/experiments/{done.name}.svg)"
    yield f"**What was marked.** {cell(done.verdict)}"
    if done.said:
        yield "\n".join(f"- {cell(said)}" for said in done.said)
    if not done.passed:
        told = [f"not marked: {each}" for each in done.missing] + [f"wrongly marked: {each}" for each in done.wrong]
        yield f"**A miss.** {'; '.join(told)}."
    yield f"*{done.at}, {done.commit}, exit code {done.exit_code}.*"


def _row(level: Level) -> tuple[str, ...]:
    users = f"{level.users:g}" + ("" if level.kind == "step" else f" ({level.kind})")
    figures = (level.goodput_rps, level.mean_ms, level.p95_ms, level.p99_ms)
    cores = (level.target_cpu_ratio, level.generator_cpu_ratio, level.host_cpu_ratio)
    return (users, _count(level.requests), _count(level.failures), *map(_figure, figures), *map(_core, cores))


def _beside(a: Repeated | None, b: Repeated | None, a_name: str, b_name: str) -> Iterator[tuple[str, ...]]:
    yield ("users", f"{a_name}: goodput/s", f"{b_name}: goodput/s", f"{a_name}: mean ms", f"{b_name}: mean ms")
    right = {level.users: level for level in b.levels} if b is not None else {}
    for level in a.levels if a is not None else []:
        if (other := right.get(level.users)) is not None:
            yield (f"{level.users:g}", *map(_figure, (level.goodput_rps, other.goodput_rps, level.mean_ms, other.mean_ms)))


def _table(rows: Table | Sequence[tuple[str, ...]]) -> str:
    head, *body = rows
    return "\n".join([_line(head), _line("---" for _ in head), *map(_line, body)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _core(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"

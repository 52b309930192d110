"""docs/experiments.md: for each of the five reports its table and conclusion, and the tables and marks of the repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from capexplorer import wording
from capexplorer.report.escaping import cell
from lab.trials.reworded import reworded

from . import records
from .compared import Compared
from .five import PICTURES, Level, Repeated, generator_cores, others_cores
from .headless import ROOT
from .reports import REPORTS, Report, Table
from .twice import TARGETS, Twice

PAGE = ROOT / "docs" / "experiments.md"

COLUMNS = ("users", "requests", "failures", "goodput/s", "mean ms", "p95 ms", "p99 ms", "target", "generator", "host")

INTRODUCTION = """\
# The five experiments

Written by `make experiments` (the reports' own levels) or `make experiments NAMES=five-short` (about 2 minutes each) from
`lab/trials/experiments/results/five.jsonl`; not by hand. Each section has the table of a published load test, and the same
exploration by capexplorer, on one machine with two cores that generator and service share. Figures differ with the machine;
the shape of the curve must not. CPU is in cores. The command above a table repeats its run; the newest run of each is shown.
The line below each run says how many cores other work on the machine used (the host's CPU less generator and service, in the
middle of the levels); above half a core the run was disturbed."""

TWICE = """\
`make experiments NAMES=twice`: each target at about half its knee, then for 60 s at twice its knee, then at half of it again.
A row fails if failures at twice the knee are explained by no mark, or if the service does not answer again afterwards."""

TWICE_COLUMNS = ("target", "knee", "users", "goodput/s", "failures", "marked", "answers again, goodput/s", "others, cores")


def write() -> None:
    """Write the page from the results."""
    newest = {each.name: each for each in records.load("five", Repeated)}
    parts = [INTRODUCTION]
    for report in REPORTS.values():
        parts += _section(report, newest)
    parts += _twice(records.load("twice", Twice))
    PAGE.write_text(reworded("\n\n".join(parts) + "\n"), encoding="utf-8")


def _section(report: Report, newest: dict[str, Repeated]) -> Iterator[str]:
    yield f"## {report.title}"
    yield report.about
    yield _table(report.table)
    yield f"**What its author concluded.** {report.concluded}"
    for each in report.repeats:
        done = newest.get(each.name)
        yield from _run(done) if done is not None else [f"### Here: {each.name}\n\nNot run yet."]
    for pair in report.compare:
        yield from _compared(*pair)


def _run(done: Repeated) -> Iterator[str]:
    yield f"### Here: {done.name}"
    yield f"```\n{done.command}\n```"
    yield _table((COLUMNS, *map(_row, done.levels)))
    if (PICTURES / f"{done.name}.svg").is_file():
        yield f"![{done.name}: the capacity curve](pictures/experiments/{done.name}.svg)"
    yield f"**What was marked.** {cell(done.verdict)}"
    if done.found:
        yield "\n".join(f"- {cell(sentence)}" for sentence in done.found)
    if done.report == "webdav":
        yield f"**The generator's share.** {_share(done)}"
    if not done.passed:
        reported = [f"not marked: {each}" for each in done.missing] + [f"wrongly marked: {each}" for each in done.wrong]
        yield f"**A miss.** {'; '.join(reported)}."
    others = others_cores(done.levels)
    kept = "" if others is None else f"; other work on the machine kept {_core(others)} cores busy"
    yield f"*{done.at}, {done.commit}, exit code {done.exit_code}{kept}.*"


def _row(level: Level) -> tuple[str, ...]:
    users = f"{level.users:g}" + ("" if level.kind == "step" else f" ({level.kind})")
    figures = (level.goodput_rps, level.mean_ms, level.p95_ms, level.p99_ms)
    cores = (level.target_cpu_ratio, generator_cores(level), level.host_cpu_ratio)
    return (users, _count(level.requests), _count(level.failures), *map(_figure, figures), *map(_core, cores))


def _share(done: Repeated) -> str:
    """Share of the busy cores that the generator used, which shares the machine with the service: by its mark, else at the level
    at which most cores were busy."""
    reported = next((sentence for sentence in done.found if wording.name("generator_shares_host") in sentence), None)
    if reported is not None:
        return cell(reported)
    level = max(done.levels, key=lambda level: level.host_cpu_ratio or 0.0)
    return f"{_core(generator_cores(level))} of {_core(level.host_cpu_ratio)} busy cores at {level.users:g} users; not marked."


def _compared(a: str, b: str) -> Iterator[str]:
    yield f"### {a} compared with {b}"
    done = next((each for each in reversed(records.load("compared", Compared)) if (each.a, each.b) == (a, b)), None)
    if done is None:
        yield "Not compared yet."
        return
    yield f"`capexplorer compare` of the two sessions (A: {a}, B: {b}): **{cell(done.verdict)}**"
    if done.warnings:
        yield "\n".join(f"- {cell(warning)}" for warning in done.warnings)
    yield f"Knees: {a} {cell(done.knees[0])}; {b} {cell(done.knees[1])}."
    rows = ((f"{row.users:,}", row.figure, row.a, row.b, row.change, row.judgement) for row in done.rows)
    yield _table((("users", "figure", a, b, "change", "judgement"), *rows))
    yield f"*{done.at}.*"


def _twice(done: Sequence[Twice]) -> Iterator[str]:
    yield "## Twice the knee"
    yield TWICE
    newest = {each.name: each for each in done}
    yield _table((TWICE_COLUMNS, *(_twice_row(newest[target.name]) for target in TARGETS if target.name in newest)))
    yield "\n".join(f"- {name}: `{each.command}` ({each.at}, {each.commit})" for name, each in newest.items()) or "Not run yet."


def _twice_row(done: Twice) -> tuple[str, ...]:
    before, during, after = done.before, done.during, done.after
    failures = None if during is None else during.failures + during.failures_while_unsettled
    goodput = [_figure(each.goodput_rps if each is not None else None) for each in (before, during, after)]
    recovery = "" if done.recovery is None else f" ({done.recovery})" if done.recovery else " (recovered)"
    again = "no: " + "; ".join(done.wrong) if done.wrong else f"{goodput[0]} before, {goodput[2]} after{recovery}"
    users = "–" if during is None else f"{during.users:g}"
    marked = "<br>".join(f"`{each}`" for each in (*done.causes, *done.bottlenecks)) or "–"
    return (done.name, _figure(done.knee_users), users, goodput[1], _count(failures), marked, again, _core(done.others_cores))


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

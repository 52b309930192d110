"""docs/experiments-knees.md, from the results: all runs of the newest series of thirty, totals and misses of earlier series."""

from __future__ import annotations

from . import knees
from .headless import ROOT
from .records import Finding, KneeRun, load
from .systems import SYSTEMS

PAGE = ROOT / "docs" / "experiments-knees.md"


def write() -> None:
    """Write the page from the results."""
    records = load("knees", KneeRun)
    batches = [[record for record in records if record.batch == batch] for batch in dict.fromkeys(each.batch for each in records)]
    whole = [batch for batch in batches if _is_whole(batch)]
    parts = [_INTRODUCTION, _systems()]
    if whole:
        parts += [f"## The last thirty: {_reported(whole[-1])}", _runs(whole[-1])]
    for batch in reversed([batch for batch in batches if batch not in whole[-1:]]):
        parts += [f"## {'Earlier' if _is_whole(batch) else 'Incomplete'}: {_reported(batch)}"]
        misses = [record for record in batch if not (record.within(knees.WITHIN) and record.holds)]
        parts += ["Its misses:", _runs(misses)] if misses else []
    parts += _findings(load("others", Finding))
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _is_whole(batch: list[KneeRun]) -> bool:
    """Whether the series has all of its runs."""
    return sum(not record.repeat for record in batch) == knees.RUNS * len(SYSTEMS)


def _reported(batch: list[KneeRun]) -> str:
    return f"{batch[0].batch}, {batch[0].commit}\n\n{knees.totals(batch)}."


_INTRODUCTION = """\
# Live explorations of services of known capacity

Written by `make experiments` from `lab/trials/experiments/results/`. Services with a known capacity, k workers that each
sleep s (`targets/sleepers`), are explored by the autopilot, headless and in real time. Users think for Z, so the knee is at
N* = k/s × (s + Z). All runs are listed, misses included.

A run whose median loop lag p99 was above 20 ms was disturbed by the machine. It is labelled and counts. It is repeated
once; the repetition is listed separately and does not count. This rule was written down before the first run."""


def _systems() -> str:
    rows = ["| service | k | s | Z | k/s | N* |", "| --- | --- | --- | --- | --- | --- |"]
    rows += [
        f"| {each.name} | {each.workers} | {each.sleep_s:g} s | {each.think_s:g} s, {each.waits} | {each.capacity_rps:g}/s |"
        f" {each.knee_users:g} |"
        for each in SYSTEMS
    ]
    return "\n".join(rows)


_COLUMNS = (
    "service", "run", "knee", "90% interval", "error", "holds N*", "capacity", "limit", "confidence", "s", "most users",
    "load average", "lag p99 ms", "",
)  # fmt: skip


def _runs(records: list[KneeRun]) -> str:
    rows = [f"| {' | '.join(_COLUMNS)} |", "|" + " --- |" * len(_COLUMNS)]
    return "\n".join(
        rows + [_row(record) for record in sorted(records, key=lambda each: (each.repeat, each.system, each.number))]
    )


def _row(record: KneeRun) -> str:
    if record.users is None:
        found = ["none", ", ".join(record.found) or "–", "–", "**no**", "–", "–", "–"]
    else:
        near = record.within(knees.WITHIN)
        found = [
            f"{record.users:.1f}",
            f"{record.users_low:.1f}–{record.users_high:.1f}",
            f"{record.error:+.1%}" if near else f"**{record.error:+.1%}**",
            "yes" if record.holds else "**no**",
            f"{record.capacity_rps:.4g}/s",
            record.limit or "–",
            record.confidence or "–",
        ]
    lag = "–" if record.loop_lag_p99_ms is None else f"{record.loop_lag_p99_ms:.1f}"
    load_average = "–" if record.load_average is None else f"{record.load_average:.2f}"
    remark = "repeated" if record.repeat else "disturbed" if record.disturbed else ""
    cells = [
        record.system,
        str(record.number),
        *found,
        f"{record.seconds:.0f}",
        str(record.most_users),
        load_average,
        lag,
        remark,
    ]
    return "| " + " | ".join(cells) + " |"


def _findings(findings: list[Finding]) -> list[str]:
    """The newest result of each other experiment."""
    latest = {finding.experiment: finding for finding in findings}
    if not latest:
        return []
    return ["## Other experiments, the newest run of each", "\n".join(map(_finding, latest.values()))]


def _finding(finding: Finding) -> str:
    verdict = "passed" if finding.passed else "FAILED"
    return f"- **{finding.experiment}** ({verdict}; {finding.at}, {finding.commit}): {finding.sentence}"

"""Faults in a service, its database and its proxy: which part is blamed for what, over SSH and with all of them here?"""

from __future__ import annotations

import argparse
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec

from capexplorer.model.events import Mark, PartState, Sample
from capexplorer.model.findings import Blame
from capexplorer.model.readings import LATE_S
from lab.kit.namespaces import NETWORKING, is_root
from lab.kit.programs import missing
from lab.kit.runs import Ran, events_of, headless
from lab.kit.tables import filled
from lab.trial import Judged, Result, Trial, by_group, commits, counted, not_right
from lab.trials.faults.trial import HARMLESS, NEIGHBOURS, NEIGHBOURS_LEAST, current_of, numbers, relevant, toml

from .shop import CLOCK_OFF_S, PLACES, PORTS, POSTGRES, STATUS_PORT, Part, Place, Row, Testbed, database_url, shop, testbed

BY_PID = ("without python", "another user")
"""Conditions under which the reader cannot find out which process listens on a port: the parts are given by process id."""
LIMIT_S = 150.0
CLOCK_WITHIN_S = 1.0
"""Precision of the shell's clock, which has whole seconds."""
PROGRAMS = (*NETWORKING, "nginx", "setpriv", "ssh", "ssh-keygen", "sshd", "su", "taskset")
FRONT: Part = "proxy"
"""The part to which load goes. In the place `here` it is the target as well, so that marks of the target belong to it."""

_TABLES = tomllib.loads(Path(__file__).with_name("rows.toml").read_text(encoding="utf-8"))
ALL = {name: msgspec.convert({"name": name, **fields}, Row) for name, fields in _TABLES["rows"].items()}
NOT_INJECTED: dict[str, str] = _TABLES["not_injected"]
"""Faults without a row, and why."""


def blamed(mark: Mark, place: Place) -> str | None:
    """The part that a mark blames; None: no part."""
    part = mark.finding.part if isinstance(mark.finding, Blame) else None
    return FRONT if part is None and place == "here" else part


def judge(row: Row, place: Place, marks: Sequence[Mark], others: float) -> Judged:
    """All revisions are judged. Causes without a part are failures that the generator observed, and are not judged here.

    `others`: cores that other processes used.
    """
    found = [mark for mark in relevant(marks) if not _is_symptom(mark)]
    current = {(mark.id, blamed(mark, place)): mark for mark in current_of(found)}
    right = {(each, row.part) for each in (*row.expected, *row.also_true)}
    wanted = [mark for key, mark in current.items() if key in {(each, row.part) for each in row.expected}]
    seen = {(mark.id, blamed(mark, place)): None for mark in found if mark.id not in HARMLESS}
    wrong = tuple(
        f"{id_} of {part or 'no part'}"
        for id_, part in seen
        if (id_, part) not in right and not (id_ == NEIGHBOURS and others >= NEIGHBOURS_LEAST)
    )
    marked = [f"{id_} of {part or 'no part'}" for id_, part in current if id_ not in HARMLESS]
    return Judged(
        missing=() if wanted or not row.expected else (" or ".join(row.expected),),
        wrong=wrong,
        busy_cores=others,
        figures={"marked": marked, "evidence": {mark.id: numbers(mark) for mark in wanted}},
    )


def _is_symptom(mark: Mark) -> bool:
    return mark.kind == "cause" and isinstance(mark.finding, Blame) and mark.finding.part is None


def judged(row: Row, place: Place, ran: Ran) -> Judged:
    """The verdict on a run: its marks, how the hosts were read, and what a cut link left."""
    others = round(median([_others(sample) for sample in ran.samples] or [0.0]), 2)
    found = judge(row, place, ran.marks, others)
    old = tuple(_old_figures(ran)) if row.cut_s is not None else ()
    shares: dict[str, list[float]] = {}
    for part in (part for sample in ran.samples for part in sample.parts if part.reader_cpu_ratio is not None):
        shares.setdefault(part.name, []).append(part.reader_cpu_ratio or 0.0)
    readers = {name: round(fmean(each), 4) for name, each in shares.items()}
    figures = {**found.figures, "reader_cpu_ratio": readers}
    return msgspec.structs.replace(found, wrong=(*found.wrong, *old, *_read_otherwise(row, ran)), figures=figures)


def _read_otherwise(row: Row, ran: Ran) -> Iterator[str]:
    """Parts that were not read under the row's condition."""
    latest = {each.name: each for each in events_of(ran.events, PartState)}
    reader = "shell" if row.host == "without python" else "python"
    expected_s = CLOCK_OFF_S if row.host == "clock off" else 0.0
    for part in latest.values():
        off_s = part.clock_offset_s or 0.0
        if part.state == "read" and part.reader != reader:
            yield f"{part.name} read by {part.reader}"
        if part.state == "read" and abs(off_s - expected_s) > (part.clock_error_s or 0.0) + CLOCK_WITHIN_S:
            yield f"clock of {part.name} reported as {off_s:.1f} s off"


def _old_figures(ran: Ran) -> Iterator[str]:
    """Problems of a row whose link is cut: figures in seconds without a reading, or no second without a reading."""
    silent = [part for sample in ran.samples for part in sample.parts if part.age_s is None or part.age_s >= LATE_S]
    if not silent:
        yield "no second in which the link was silent"
    if any(part.target or part.host or part.server for part in silent):
        yield "figures in a second without a reading"


def _others(sample: Sample) -> float:
    busy = sample.host.cpu_ratio if sample.host is not None else None
    own = [part.target.cpu_ratio or 0.0 for part in sample.parts if part.target is not None]
    generator = sample.generator.process_cpu_ratio if sample.generator is not None else None
    return max(0.0, (busy or 0.0) - (generator or 0.0) - sum(own))


def why_not() -> str:
    if reason := missing(*PROGRAMS):
        return reason
    if POSTGRES is None:
        return "not installed: PostgreSQL (Debian: apt-get install postgresql)"
    return "" if is_root() else "needs root for network namespaces"


def carry_out(row: Row, place: Place, folder: Path) -> Ran:
    """One run, its files in `folder`. PostgreSQL's user must have access to `folder`."""
    folder.mkdir(parents=True, mode=0o755)
    with testbed(place, row.host, folder) as where, shop(row, where, folder) as pids:
        profile = folder / f"{row.name}.toml"
        profile.write_text("".join(f"{key} = {toml(value)}\n" for key, value in _profile(row, where, pids).items()))
        cut = threading.Timer((row.cut_s or 0.0), lambda: where.cut("db"))
        hosts = [word for part_host in where.hosts.values() for word in ("--allow-host", part_host.address)]
        if row.cut_s is not None:
            cut.start()
        try:
            return headless(folder, str(profile), "--plan", row.plan, *hosts, timeout_s=LIMIT_S, before=where.prefix)
        finally:
            cut.cancel()


def _profile(row: Row, where: Testbed, pids: Mapping[Part, int]) -> dict[str, Any]:
    proxy = where.hosts["proxy"].address
    own = {"db": {"postgres": database_url(where)}, "proxy": {"nginx": f"http://{proxy}:{STATUS_PORT}/"}}
    parts = [
        {"name": part, "at": where.hosts[part].at, **own.get(part, {})}
        | ({"pid": pids[part]} if row.host in BY_PID else {"port": port})
        for part, port in PORTS.items()
    ]
    users = {"client": "fast", "wait_s": {"constant": 0.05}, "keep_alive": row.keep_alive, "task": [{"name": "/work"}]}
    return {"title": row.fault, "url": f"http://{proxy}:{PORTS['proxy']}", "users": users, "watch": parts}


class Parts(Trial[Row]):
    name = "parts"
    about = "Injects faults into watched parts, and judges which part is blamed. Needs root."
    cases = ALL
    contained = True
    spoilt_counts = False

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--place", action="append", choices=PLACES)

    def variants(self, case: Row, options: argparse.Namespace) -> Sequence[str]:
        return [place for place in case.places if place in (options.place or PLACES)]

    def why_not(self, case: Row, options: argparse.Namespace) -> str:
        return why_not()

    def carry_out(self, case: Row, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        place = msgspec.convert(variant, Place)
        return judged(case, place, carry_out(case, place, folder))

    def page(self, results: Sequence[Result]) -> str:
        shares = [
            each for one in results if one.variant == "namespaces" for each in one.figures.get("reader_cpu_ratio", {}).values()
        ]
        readers = (
            f"A reader at the other end of SSH used {fmean(shares):.2%} of a core on average, {max(shares):.2%} at most, "
            f"over {len(shares)} readers, each a mean over its run."
            if shares
            else ""
        )
        totals = f"{len({each.case for each in results})} of {len(ALL)} rows, {counted(results)}. Commits: {commits(results)}."
        places = by_group(results, lambda each: each.variant, "place")
        left_out = "\n".join(f"- {what}: {why}." for what, why in NOT_INJECTED.items())
        wrong = not_right(results)
        return filled(self.name, totals=totals, readers=readers, places=places, not_right=wrong, left_out=left_out)

"""Does any locustfile run as in Locust?

`python -m lab.trials conformance [NAME ...]` runs each example of Locust's documentation that needs no outside host
(`examples.toml`) in plain `locust --headless` and in capexplorer, against the same service.

Compared: names of requests, how many of each in a second of all users, how many failed, users over time, the exit code if the
locustfile sets it. What capexplorer takes for metrics counts here as the requests that Locust makes of them. Counts of two runs
of random users differ: by NOISE standard deviations, by a cycle of each user, and by SHARE for seconds that begin elsewhere.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from capexplorer.model.events import EndpointTick
from lab.kit.runs import Ran, started_run
from lab.kit.servers import free_port, listening
from lab.trial import Judged, Trial, kinds, rows_of

NOISE = 4.0
SHARE = 0.12
USERS_SHARE = 0.15
SECONDS = 3
"""By which a run that ends itself may last longer or shorter."""
LOCUST = Path(sys.executable).with_name("locust")
SERVICE = Path(__file__).with_name("service.py")
SPAWNING_S = 1
"""Seconds in which all users start, which are part of Locust's time, but of no step of a plan."""
EXTRA_S = 40.0
"""Seconds in which a run starts and ends."""

Name = tuple[str, str]
"""(method, name)."""


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of examples.toml."""

    name: str
    file: str = ""
    """The text of locustfile.py."""
    files: dict[str, str] = {}
    given: str = "locustfile.py"
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    users: int = 6
    seconds: int = 8
    shape: bool = False
    """Whether a shape sets the users, and ends the run."""
    ends_itself: bool = False
    exit_code: int | None = None
    """That which the locustfile sets."""
    metrics: tuple[str, ...] = ()
    """What is a metric, no request."""


@dataclass(frozen=True)
class Found:
    """What one of the two reports."""

    requests: Mapping[Name, int]
    failures: Mapping[Name, int]
    users: Sequence[int]
    """Of each second, from the first with users to the last."""
    exit_code: int
    metrics: frozenset[str] = frozenset()


class Conformance(Trial[Example]):
    name = "conformance"
    about = __doc__.splitlines()[0]
    parallel = 4
    cases = rows_of(Path(__file__).with_name("examples.toml"), Example)

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--workers", action="store_true", help="capexplorer runs the users in two worker processes")

    def variants(self, case: Example, options: argparse.Namespace) -> Sequence[str]:
        return ("workers",) if options.workers else ("",)

    def carry_out(self, case: Example, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        for name, text in {"locustfile.py": case.file, **case.files}.items() if case.file else case.files.items():
            (path := folder / name).parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.lstrip("\n"), encoding="utf-8")
        port = free_port()
        with listening([sys.executable, str(SERVICE), str(port)], port):
            url = f"http://127.0.0.1:{port}"
            return judged(case, by_locust(case, folder, url), by_capexplorer(case, folder, url, bool(variant)))


def by_locust(case: Example, folder: Path, url: str) -> Found:
    steered = () if case.shape else ("-u", str(case.users), "-r", str(case.users), "-t", str(case.seconds))
    command = [str(LOCUST), "-f", case.given, "--headless", "--host", url, *steered, "--csv", "locust", *case.arguments]
    environment = {**os.environ, **case.environment, "PYTHONPATH": ""}
    with (folder / "locust.log").open("wb") as log:
        code = subprocess.run(
            command, cwd=folder, env=environment, stdout=log, stderr=log, timeout=case.seconds + EXTRA_S, check=False
        ).returncode
    rows = {(row["Type"], row["Name"]): row for row in _table(folder / "locust_stats.csv") if row["Name"] != "Aggregated"}
    return Found(
        {name: int(row["Request Count"]) for name, row in rows.items()},
        {name: int(row["Failure Count"]) for name, row in rows.items() if int(row["Failure Count"])},
        _users_of_history(folder / "locust_stats_history.csv"),
        code,
    )


def _table(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def by_capexplorer(case: Example, folder: Path, url: str, in_workers: bool) -> Found:
    level = f"{case.users}:{case.seconds - SPAWNING_S}s"
    plan = () if case.shape else ("--plan", level, "--spawn-rate", str(case.users))
    workers, arguments = ("--workers", "2") if in_workers else (), ("--", *case.arguments) if case.arguments else ()
    own = ("-f", case.given, "--headless", "--host", url, *plan, *workers, *arguments)
    with started_run(folder, *own, cwd=folder, environment=case.environment) as run:
        code = run.process.wait(case.seconds + EXTRA_S)
    samples = Ran.of(run.sessions, code, run.stderr).samples
    requests, failures = Counter[Name](), Counter[Name]()
    for each in (each for sample in samples for each in (*sample.endpoints, *sample.metrics)):
        requests[_name(each)] += each.requests + each.warmup_requests
        failures[_name(each)] += each.failures + each.warmup_failures
    metrics = frozenset(" ".join(_name(each)) for sample in samples for each in sample.metrics)
    return Found(requests, +failures, _between([sample.users for sample in samples]), code, metrics)


def _name(tick: EndpointTick) -> Name:
    return tick.method, tick.name


def _users_of_history(path: Path) -> Sequence[int]:
    """A busy machine makes Locust leave out lines: those seconds have the users of the one before."""
    users: list[int] = []
    began_s = 0
    for row in _table(path):
        second, count = int(row["Timestamp"]), int(row["User Count"])
        began_s = began_s or second
        users += (users[-1:] or [count]) * (second - began_s - len(users)) + [count]
    return _between(users)


def _between(users: Sequence[int]) -> Sequence[int]:
    seconds = [second for second, count in enumerate(users) if count]
    return users[seconds[0] : seconds[-1] + 1] if seconds else []


def judged(case: Example, theirs: Found, own: Found) -> Judged:
    names, failed = sorted({*theirs.requests, *own.requests}), sorted({*theirs.failures, *own.failures})
    ratio = sum(own.users) / max(sum(theirs.users), 1)
    lasts_itself = case.shape or case.ends_itself
    wrong = {
        "no requests": not names,
        "names": any(not (theirs.requests.get(name) and own.requests.get(name)) for name in names),
        "requests": any(_differs(ratio * theirs.requests.get(name, 0), own.requests.get(name, 0), case) for name in names),
        "failures": any(_differs(ratio * theirs.failures.get(name, 0), own.failures.get(name, 0), case) for name in failed),
        "users": _users_differ(theirs.users, own.users),
        "seconds": lasts_itself and abs(len(theirs.users) - len(own.users)) > SECONDS,
        "exit code": case.exit_code is not None and (theirs.exit_code, own.exit_code) != (case.exit_code, case.exit_code),
        "metrics": own.metrics != frozenset(case.metrics),
    }
    figures: dict[str, Any] = {
        "locust": sum(theirs.requests.values()),
        "capexplorer": sum(own.requests.values()),
        "names": len(names),
        "failed": [sum(theirs.failures.values()), sum(own.failures.values())],
        "users": [fmean(each.users) if each.users else 0.0 for each in (theirs, own)],
    }
    if any(wrong.values()):
        figures["each"] = {" ".join(name): [theirs.requests.get(name, 0), own.requests.get(name, 0)] for name in names}
        figures["metrics"] = sorted(own.metrics)
    return Judged(wrong=kinds(wrong), figures=figures)


def _differs(theirs: float, own: float, case: Example) -> bool:
    most = max(theirs, own)
    return abs(theirs - own) > SHARE * most + NOISE * math.sqrt(most) + case.users


def _users_differ(theirs: Sequence[int], own: Sequence[int]) -> bool:
    """Whether the most users differ, or their mean by more than USERS_SHARE."""
    if not theirs or not own or max(theirs) != max(own):
        return True
    means = fmean(theirs), fmean(own)
    return abs(means[0] - means[1]) > max(1.0, USERS_SHARE * max(means))

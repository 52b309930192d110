"""The fault matrix: faults that are injected for real, and the marks that capexplorer makes of them (`make faults`)."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import ssl
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any, Literal, get_args

import msgspec

from capexplorer import paths
from capexplorer.model.events import Mark
from lab.kit.namespaces import NETWORKING, cgroups, is_root, network
from lab.kit.programs import missing
from lab.kit.runs import LAB, Ran, headless, wait_until
from lab.kit.servers import beside, busy, ended, free_port
from lab.kit.tables import filled
from lab.trial import Judged, Result, Trial, by_group, commits, counted, not_right

Client = Literal["fast", "requests", "lean"]
CLIENTS: tuple[Client, ...] = get_args(Client)
Param = str | int | float

HERE = Path(__file__).resolve().parent
SERVE = LAB / "targets" / "faulty" / "serve.py"
LIMIT_S = 240.0
WAIT_S = {"between": [0.05, 0.15]}
PORT = 8123
"""Port of a service that the trial starts. It is free, since each row has a network namespace of its own."""
BUSY_LONGEST_S = 120.0

KINDS = ("cause", "bottleneck", "leak")
CURVE_KINDS = ("knee", "at_or_below", "bend", "latency_knee")
SEVERE = ("error", "critical")
HARMLESS = ("think_time_limited", "not_saturated")
"""Ids that may be marked in a healthy run."""
NEIGHBOURS = "noisy_neighbours"
NEIGHBOURS_LEAST = 0.2
"""Cores that other processes must have used for BURST_S, for a mark that blames them to be right."""
BURST_S = 10
"""Seconds: a level in which other processes are marked is as long."""


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    family: str
    fault: str
    """The fault in one line."""
    expected: tuple[str, ...] = ()
    """Ids that must be marked, each of them."""
    one_of: tuple[str, ...] = ()
    """At least one of these must be marked, too."""
    also_true: dict[str, str] = {}
    """Other ids that are true of this fault, with the reason; no further mark of severity error or above may be made."""
    clients: tuple[Client, ...] = CLIENTS
    plan: str = "8:9s"
    short: str = ""
    """A shorter plan that shows the fault, for `make test`; empty: not run there."""
    users_of_each_process: bool = False
    """The plan's users exceed a limit of one process; with workers each worker gets as many users."""
    one_process: str = ""
    """Why its fault shows only with all users in one process; empty: it shows with workers too."""

    target: str = "faulty"
    """The service: a folder of targets/."""
    act: str = "ok"
    """What the target `faulty` does with each request: a name in its `acts.py` or `served.py`."""
    params: dict[str, Param] = {}
    wait_s: dict[str, Any] | float | None = None
    """As in a profile; 0.05-0.15 s unless given."""
    keep_alive: bool = True
    timeout_s: float = 30.0
    task: dict[str, Param] = msgspec.field(default_factory=lambda: {"name": "/work"})
    users: str = ""
    """A class of locustfile.py in place of `task`."""
    needs: str = ""
    """A program that the service needs."""
    profile: str = ""
    """A shipped profile in place of all fields above except `wait_s`; its users get the row's client."""

    served_by: Literal["capexplorer", "trial", "nobody"] = "capexplorer"
    """Who starts the service: capexplorer; the trial itself, so that capexplorer finds it by its port; nobody."""
    tls: bool = False
    """The service that the trial starts speaks TLS, with a self-signed certificate."""
    host: str = "http://127.0.0.1:{port}"
    """URL to which load goes, if capexplorer does not start the service."""
    arguments: tuple[str, ...] = ()
    """Further arguments of `capexplorer run`."""
    exit_codes: tuple[int, ...] = (0, 4)
    """Exit codes that are right; 4 if no request succeeded."""
    reported: dict[str, str] = {}
    """Ids of marks that cannot be in the log, each with words that stderr must have instead."""

    namespace: tuple[str, ...] = ()
    """Shell lines that prepare its network namespace for the fault."""
    before: tuple[str, ...] = ()
    """Command prefix of capexplorer, such as `taskset -c 0`; it applies to all that capexplorer starts."""
    busy_cores: tuple[int, ...] = ()
    """Cores on each of which four busy processes run. A service that the trial starts is pinned to the other core."""
    neighbours: tuple[Literal["cpu", "memory", "disk", "idle"], ...] = ()
    """Processes that run on each core, by what they use (`neighbour.py`)."""
    neighbours_at: tuple[int, int] = (0, 0)
    """Indices of the first and the last level at which neighbours are active."""
    no_knee: bool = False
    """No point of the capacity curve may be marked."""
    cgroups: dict[str, dict[str, str]] = {}
    """For each controller of the service's cgroup the contents of its files."""
    small_disk: str = ""
    """Size of the file system on which the session is saved; empty: the machine's own."""
    small_folder: str = ""
    """Size of the file system to which the service writes; empty: the machine's own."""

    @property
    def needs_root(self) -> str:
        """What the row needs root for; empty: it does not need root."""
        mount = self.small_disk or self.small_folder
        reasons = {"a network namespace": self.namespace, "cgroups": self.cgroups, "a mount": mount}
        return ", ".join(what for what, wanted in reasons.items() if wanted)

    @property
    def programs(self) -> tuple[str, ...]:
        runs = {
            self.needs: self.needs,
            "openssl": self.tls,
            "taskset": self.busy_cores or "taskset" in self.before,
            "sysctl": any("sysctl" in line for line in self.namespace),
            "unshare": self.small_disk or self.small_folder,
        }
        return tuple(program for program, is_run in runs.items() if is_run)


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((HERE / "rows.toml").read_text(encoding="utf-8"))


FAMILIES = tuple(name for name in _tables() if name != "not_injected")
ALL: dict[str, Row] = {
    name: msgspec.convert({"name": name, "family": family, **fields}, Row)
    for family in FAMILIES
    for name, fields in _tables()[family].items()
}
NOT_INJECTED: dict[str, str] = _tables()["not_injected"]
"""Causes without a row, and why."""


# -- the judge -----------------------------------------------------------------------------------------------------------------


def judge(row: Row, marks: Sequence[Mark], stderr: str = "", others: float = 0.0) -> Judged:
    """All revisions are judged: a wrong mark that was retracted later was on the screen, too.

    `others`: cores that processes other than the row's used. From NEIGHBOURS_LEAST on, the mark NEIGHBOURS is right in any row.
    """
    found = list(relevant(marks))
    current = {mark.id for mark in current_of(found)} | {name for name, words in row.reported.items() if words in stderr}
    absent = [wanted for wanted in row.expected if wanted not in current]
    if row.one_of and not current & set(row.one_of):
        absent.append(" or ".join(row.one_of))
    right = {*row.expected, *row.one_of, *row.also_true} | ({NEIGHBOURS} if others >= NEIGHBOURS_LEAST else set())
    wrong = {mark.id: None for mark in found if mark.id not in right and _is_blame(row, mark)}
    curve = {mark.kind: None for mark in marks if row.no_knee and mark.kind in CURVE_KINDS}
    evidence = {mark.id: numbers(mark) for mark in current_of(found) if mark.id in (*row.expected, *row.one_of)}
    figures = {"marked": sorted(current), "evidence": evidence}
    return Judged(missing=tuple(absent), wrong=(*wrong, *curve), busy_cores=round(others, 2), figures=figures)


def relevant(marks: Iterable[Mark]) -> Iterable[Mark]:
    return (mark for mark in marks if mark.kind in KINDS)


def current_of(marks: Iterable[Mark]) -> list[Mark]:
    """The last revision of each that was not retracted."""
    return [mark for mark in {mark.key: mark for mark in marks}.values() if mark.state != "retracted"]


def numbers(mark: Mark) -> dict[str, float]:
    figures = mark.finding.figures().items()
    return {name: round(value, 4) for name, value in figures if isinstance(value, int | float) and not isinstance(value, bool)}


def _is_blame(row: Row, mark: Mark) -> bool:
    """Whether a mark blames something: bottlenecks, leaks and severe causes do; in rows of healthy services any cause does."""
    if row.family == "healthy" or mark.kind != "cause":
        return mark.id not in HARMLESS
    return mark.severity in SEVERE


def busiest(cores: Sequence[float]) -> float:
    """The greatest mean of BURST_S consecutive seconds; of all if there are fewer; 0 without any."""
    if len(cores) < BURST_S:
        return mean(cores) if cores else 0.0
    return max(mean(cores[at : at + BURST_S]) for at in range(len(cores) - BURST_S + 1))


def judged(row: Row, ran: Ran) -> Judged:
    """The verdict on a run: its marks, what its export has of them, and its exit code."""
    used = [sample.neighbours.cpu_ratio for sample in ran.samples if sample.neighbours]
    has_busy_processes = row.busy_cores or set(row.neighbours) - {"idle"}
    found = judge(row, ran.marks, ran.stderr, 0.0 if has_busy_processes else busiest([each for each in used if each is not None]))
    exported = {each["id"] for part in ("causes", "bottlenecks", "leaks") for each in ran.summary.get(part, ())}
    known = (*exported, *found.missing, *row.reported)
    lost = tuple(f"{each} in the export" for each in row.expected if each not in known)
    bad_end = () if ran.exit_code in row.exit_codes else (f"exit code {ran.exit_code}",)
    return msgspec.structs.replace(found, missing=(*found.missing, *lost), wrong=(*found.wrong, *bad_end))


# -- one run -------------------------------------------------------------------------------------------------------------------


def why_not(row: Row, workers: int = 0) -> str:
    if workers > 1 and row.one_process:
        return f"with workers: {row.one_process}"
    if reason := missing(*row.programs, *(NETWORKING if is_root() else ())):
        return reason
    return f"needs root for {row.needs_root}" if row.needs_root and not is_root() else ""


def carry_out(row: Row, client: Client, folder: Path, short: bool = False, workers: int = 0) -> Ran:
    """One run of capexplorer in the row's test bed, its files in `folder`. As root each row gets a network namespace, so that the
    kernel's counters, ports and queues are its own. The load comes from `workers` worker processes; 0: from the run's own."""
    folder.mkdir(parents=True)
    sessions, port = folder / "sessions", PORT if is_root() else free_port()
    sessions.mkdir()
    with ExitStack() as bed:
        prefix = bed.enter_context(network(row.namespace))
        groups = bed.enter_context(cgroups(row.cgroups))
        bed.enter_context(busy(row.busy_cores, most_s=BUSY_LONGEST_S))
        bed.enter_context(_neighbours(row, sessions))
        acts = {"act": row.act} if row.target == SERVE.parent.name else {}
        params = {**acts, **row.params} | ({"cgroup": groups} if groups else {})
        if row.served_by == "trial":
            idle_core = ["taskset", "-c", str(1 - row.busy_cores[0])] if row.busy_cores else []
            bed.enter_context(_service([*prefix, *idle_core], folder, port, params, row.tls))
        profile = folder / f"{row.name}.toml"
        profile.write_text("".join(f"{key} = {toml(value)}\n" for key, value in _profile(row, client, params, port).items()))
        return headless(
            folder,
            *(str(profile), "--plan", _plan(row, short, workers), *row.arguments),
            *(("--workers", str(workers)) if workers else ()),
            timeout_s=LIMIT_S,
            before=[*_mounted(row, folder), *prefix, *row.before],
            cwd=folder if row.small_folder else LAB,
            environment={"FAULT_CLIENT": client, "FAULT_USERS": row.users},
        )


def _plan(row: Row, short: bool, workers: int) -> str:
    """The row's plan, of levels such as `200:9s`; its users are multiplied by the number of workers if the fault needs that."""
    plan = row.short if short else row.plan
    if not row.users_of_each_process or not workers:
        return plan
    levels = (level.partition(":") for level in plan.split(","))
    return ",".join(f"{int(users) * workers}:{hold}" for users, _, hold in levels)


def _mounted(row: Row, folder: Path) -> list[str]:
    """Command prefix: the sessions folder on a mount of its own, whose files are copied out at the end; or a copy of the target
    on a small file system (a target in the working folder is found first)."""
    if row.small_disk:
        sessions, kept = shlex.quote(str(folder / "sessions")), folder / "kept"
        kept.mkdir()
        script = (
            f'mount -t tmpfs -o size={row.small_disk} none {sessions} || exit 99; "$@"; code=$?; cp {sessions}/* {kept}; '
            f"umount {sessions}; cp {kept}/* {sessions}; exit $code"
        )
    elif row.small_folder:
        target = folder / "targets" / row.target
        target.mkdir(parents=True)
        copied = f"cp {LAB}/targets/{row.target}/*.* {target}"
        script = f'mount -t tmpfs -o size={row.small_folder} none {target} && {copied} && exec "$@"'
    else:
        return []
    return ["unshare", "-m", "sh", "-c", script, "sh"]


def _profile(row: Row, client: Client, params: dict[str, Any], port: int) -> dict[str, Any]:
    if row.profile:
        return _shipped(paths.profile(row.profile), row, client)
    users: dict[str, Any] = {
        "client": client,
        "wait_s": WAIT_S if row.wait_s is None else row.wait_s,
        "keep_alive": row.keep_alive,
        "timeout_s": row.timeout_s,
    }
    users |= {"locustfile": str(HERE / "locustfile.py")} if row.users else {"task": [row.task]}
    where: dict[str, Any] = {"target": row.target, "params": params}
    if row.served_by != "capexplorer":
        where = {"url": row.host.format(port=port)}
    return {"title": row.fault, **where, "users": users, "guards": {"max_users": 1000}}


def _shipped(path: Path, row: Row, client: Client) -> dict[str, Any]:
    """A profile of the product with the row's client; the path of its locustfile is made absolute."""
    profile = tomllib.loads(path.read_text())
    profile["users"] |= {"client": client} | ({"wait_s": row.wait_s} if row.wait_s is not None else {})
    if "locustfile" in profile["users"]:
        profile["users"]["locustfile"] = str(path.with_name(profile["users"]["locustfile"]))
    return profile


def toml(value: object) -> str:
    match value:
        case dict():
            return "{ " + ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case _:
            return json.dumps(value)


def _neighbours(row: Row, sessions: Path) -> AbstractContextManager[None]:
    """The row's neighbours on each core, active from the first to the last of their levels."""
    program = [sys.executable, str(HERE / "neighbour.py")]
    levels = map(str, row.neighbours_at)
    arguments = [str(sessions), *levels]
    cores = sorted(os.sched_getaffinity(0)) if row.neighbours else []
    return beside([[*program, kind, str(core), *arguments] for core in cores for kind in row.neighbours])


@contextmanager
def _service(prefix: Sequence[str], folder: Path, port: int, params: Mapping[str, object], tls: bool) -> Iterator[None]:
    """The faulty service, started by the trial and not by capexplorer; it listens when the block begins."""
    arguments = [part for name, value in params.items() for part in (f"--{name}", str(value))]
    arguments += ["--certificate", str(_certificate(folder))] if tls else []
    connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 1).close()"
    asked = [*prefix, sys.executable, "-c", connect]
    with (folder / "service.log").open("wb") as log:
        command = [*prefix, sys.executable, str(SERVE), "--port", str(port), *arguments]
        process = subprocess.Popen(command, cwd=SERVE.parent, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    with ended(process):
        wait_until(lambda: subprocess.run(asked, capture_output=True, check=False).returncode == 0, f"a service on port {port}")
        yield


def _certificate(folder: Path) -> Path:
    """Key and self-signed certificate, in one file."""
    path = folder / "self-signed.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run(command, check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    ssl.create_default_context().load_verify_locations(path)
    return path


# -- the trial -----------------------------------------------------------------------------------------------------------------


class Faults(Trial[Row]):
    name = "faults"
    about = "Injects faults, and judges what is marked."
    cases = ALL

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--client", action="append", choices=CLIENTS)
        parser.add_argument("--family", action="append", choices=FAMILIES)
        parser.add_argument("--workers", type=int, default=0, metavar="N", help="generate the load in N worker processes")

    def chosen(self, options: argparse.Namespace) -> Mapping[str, Row]:
        return {name: row for name, row in super().chosen(options).items() if row.family in (options.family or FAMILIES)}

    def variants(self, case: Row, options: argparse.Namespace) -> Sequence[str]:
        workers = f", {options.workers} workers" * bool(options.workers)
        return [f"{client}{workers}" for client in case.clients if client in (options.client or CLIENTS)]

    def why_not(self, case: Row, options: argparse.Namespace) -> str:
        return why_not(case, options.workers)

    def carry_out(self, case: Row, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        client = msgspec.convert(variant.partition(",")[0], Client)
        return judged(case, carry_out(case, client, folder, workers=options.workers))

    def page(self, results: Sequence[Result]) -> str:
        totals = f"{len({each.case for each in results})} rows, {counted(results)}. Commits: {commits(results)}."
        families = by_group(results, lambda each: self.cases[each.case].family, "family")
        return filled(self.name, totals=totals, families=families, not_right=not_right(results))

"""The shipped samples of other protocols against real servers: the knee of a pool of known size, and the cause of each fault
(`python -m lab.trials protocols`).

k requests at a time, each for s, and users that think for Z: N* = k / s x (s + Z). No threshold was tuned on them.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec

from lab.kit.programs import missing
from lab.kit.runs import Ran, headless
from lab.trial import Judged, Trial
from lab.trials.faults.trial import HARMLESS, current_of
from lab.trials.protocols import servers
from lab.trials.services import BLAMES, TIMEOUT_S, judge

KNEE = "knee"
Started = tuple[Sequence[str], Mapping[str, str]]
"""Words of the command line, and variables of the environment."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A sample, the profile of its name, and a server of its protocol."""

    name: str
    workers: int
    sleep_s: float
    think_s: float
    serve: Callable[[Path, str], AbstractContextManager[Started]]
    """Starts what is explored, if the profile does not, in a folder. The text is `knee` or the name of a fault."""
    faults: Mapping[str, str]
    """By name of a fault: the cause that is right."""
    plan: str = "4:6s,20:10s"
    """Of the runs with a fault."""
    needs: tuple[str, ...] = ()
    """Programs."""
    library: str = ""
    """The module that its users import."""

    @property
    def capacity_rps(self) -> float:
        return self.workers / self.sleep_s

    @property
    def knee_users(self) -> float:
        return self.capacity_rps * (self.think_s + self.sleep_s)


def _at(port: int, user: str = "") -> list[str]:
    return ["--host", f"{user}127.0.0.1:{port}"]


TWO_ROWS = "create table rows (i int primary key, v int); insert into rows values (1, 0), (2, 0)"
IN_ANY_ORDER = (
    "do $$ declare a int := 1 + (random() < 0.5)::int; begin update rows set v = 1 where i = a; perform pg_sleep(0.05); "
    "update rows set v = 1 where i = 3 - a; end $$"
)
ONE_ROW = "do $$ begin update rows set v = 1 where i = 1; perform pg_sleep(0.1); end $$"
POSTGRES_FAULTS: dict[str, tuple[dict[str, object], str]] = {
    "connections": ({"max_connections": 12}, "select pg_sleep(0.1)"),
    "deadlock": ({"deadlock_timeout": "100ms"}, IN_ANY_ORDER),
    "statement-timeout": ({"statement_timeout": "50ms"}, "select pg_sleep(0.1)"),
    "lock-timeout": ({"lock_timeout": "100ms"}, ONE_ROW),
}


@contextmanager
def _postgres(folder: Path, variant: str) -> Iterator[Started]:
    settings, statement = POSTGRES_FAULTS.get(variant, ({}, "select pg_sleep(0.1)"))
    with servers.postgres(folder / "postgres", TWO_ROWS, **settings) as port:
        variables = {"STATEMENT": statement, "WAIT_S": "0.4", "PGUSER": "load", "PGDATABASE": "postgres"}
        if variant != KNEE:
            yield _at(port), variables
            return
        with servers.pgbouncer(folder / "pgbouncer", port, 5) as pool:
            yield _at(pool), variables


@contextmanager
def _redis(folder: Path, variant: str) -> Iterator[Started]:
    settings, command = {
        "clients": (("--maxclients", "8"), "PING"),
        "memory": (("--maxmemory", "3mb"), f"APPEND all {'x' * 20_000}"),
    }.get(variant, (("--enable-debug-command", "yes"), "DEBUG SLEEP 0.04"))
    with servers.redis(*settings) as port:
        yield _at(port), {"COMMAND": command, "WAIT_S": "0.5"}


@contextmanager
def _mqtt(folder: Path, variant: str) -> Iterator[Started]:
    settings = {
        "connections": ("allow_anonymous true", "max_connections 10"),
        "password": ("allow_anonymous false",),
    }.get(variant, ("allow_anonymous true",))
    with servers.mosquitto(folder / "mosquitto", 0 if variant == "password" else 4, 100.0, settings) as port:
        yield _at(port), {"WAIT_S": "0.5"}


@contextmanager
def _dns(folder: Path, variant: str) -> Iterator[Started]:
    full = () if variant == KNEE else ("--most", "2", "--full", variant)
    with servers.dns("--workers", "6", "--sleep-ms", "100" if variant == KNEE else "500", *full) as port:
        yield _at(port), {"WAIT_S": "0.4"}


def _pooled(workers: int, sleep_s: float) -> Callable[[Path, str], AbstractContextManager[Started]]:
    """The profile's own target, `protocols`; with a fault a pool that the users of the plan overload. Why replies are slow no
    reading can tell: that they time out for an unknown cause is right."""

    def serve(folder: Path, variant: str) -> AbstractContextManager[Started]:
        size, fault = (workers, "none") if variant == KNEE else (2, variant)
        words = [f"pool={size}", f"work_ms={1000 * sleep_s:g}", f"fault={fault}"]
        return nullcontext(([part for word in words for part in ("--set", word)], {}))

    return serve


SPOKEN = (
    Spoken("postgres", 5, 0.1, 0.4, _postgres, needs=("psql", "pgbouncer"), library="psycopg", faults={
        "connections": "too_many_connections", "deadlock": "deadlock", "statement-timeout": "statement_timeout",
        "lock-timeout": "lock_timeout",
    }),
    Spoken("redis", 1, 0.04, 0.5, _redis, needs=("redis-server",), library="redis", faults={
        "clients": "too_many_connections", "memory": "server_out_of_memory",
    }),
    Spoken("mqtt", 4, 0.1, 0.5, _mqtt, needs=("mosquitto",), library="paho", faults={
        "connections": "connection_reset", "password": "not_authorised",
    }),
    Spoken("dns", 6, 0.1, 0.4, _dns, library="dns", faults={"servfail": "service_error", "truncate": "truncated_reply"}),
    Spoken("websocket", 5, 0.1, 0.4, _pooled(5, 0.1), faults={
        "busy": "server_busy", "error": "service_error", "close": "connection_reset",
    }),
    Spoken("socketio", 8, 0.08, 0.4, _pooled(8, 0.08), faults={"busy": "failed_check", "slow": "unknown"}),
    Spoken("graphql", 6, 0.12, 0.4, _pooled(6, 0.12), faults={"busy": "server_busy", "error": "service_error"}),
    Spoken("grpc", 4, 0.1, 0.4, _pooled(4, 0.1), library="grpc", faults={
        "busy": "server_busy", "error": "service_error", "close": "service_unavailable", "slow": "unknown",
    }),
    Spoken("tcp", 7, 0.15, 0.4, _pooled(7, 0.15), faults={"busy": "failed_check", "close": "connection_reset"}),
)  # fmt: skip


class Protocols(Trial[Spoken]):
    """One at a time: the users of some compute."""

    name = "protocols"
    about = "The samples of other protocols: knees of pools of known size, and the causes of their faults."
    cases = {each.name: each for each in SPOKEN}

    def why_not(self, case: Spoken, options: argparse.Namespace) -> str:
        if case.library and importlib.util.find_spec(case.library) is None:
            return f"the module {case.library} is not installed"
        if "psql" in case.needs and not (servers.POSTGRES / "initdb").exists():
            return "not installed: PostgreSQL (Debian: apt-get install postgresql)"
        return missing(*case.needs)

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--only", nargs="+", metavar="VARIANT", help="of knee and the names of faults")

    def variants(self, case: Spoken, options: argparse.Namespace) -> Sequence[str]:
        return [each for each in (KNEE, *case.faults) if not options.only or each in options.only]

    def carry_out(self, case: Spoken, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(mode=0o755, parents=True)
        how = ("--autopilot",) if variant == KNEE else ("--plan", case.plan)
        with case.serve(folder, variant) as (words, variables):
            ran = headless(folder / "run", case.name, *words, *how, timeout_s=TIMEOUT_S, environment=variables)
        return _of_knee(case, ran) if variant == KNEE else of_fault(case.faults[variant], ran)


def _of_knee(case: Spoken, ran: Ran) -> Judged:
    found, blamed = ran.knee or {}, sorted(_ids(ran, *BLAMES))
    figures = {name: found.get(name) for name in ("users", "users_low", "users_high", "capacity_rps", "confidence", "limit")}
    return msgspec.structs.replace(
        judge(case, found, blamed),
        figures={**figures, "true": case.knee_users, "blamed": blamed, "exit_code": ran.exit_code},
    )


def of_fault(cause: str, ran: Ran) -> Judged:
    causes = _ids(ran, "cause")
    return Judged(
        missing=(cause,) * (cause not in causes),
        wrong=tuple(sorted(causes - {cause, *HARMLESS})),
        figures={"causes": sorted(causes), "exit_code": ran.exit_code},
    )


def _ids(ran: Ran, *kinds: str) -> set[str]:
    return {mark.id for mark in current_of(ran.marks) if mark.kind in kinds}

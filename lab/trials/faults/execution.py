"""Carries out one row with one client class: its test bed, the run, and the saved session."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from capexplorer import paths
from capexplorer.model.events import Event, Mark, Sample
from capexplorer.model.timeline import Timeline
from capexplorer.report.summary import summarise
from capexplorer.session.reader import read
from lab.trials.programs import missing

from .judge import Verdict, judge
from .row import Client, Row
from .testbed import HERE, NAMESPACE_PROGRAMS, SERVE, busy, cgroups, is_root, namespace, neighbours, service

PROGRAM = str(Path(sys.executable).with_name("capexplorer"))
LIMIT_S = 240.0
WAIT_S = "{ between = [0.05, 0.15] }"
PORT = 8123
"""Port of a service that the trial starts. It is free, since each row has a network namespace of its own."""

BURST_S = 10
"""Seconds: a level in which other processes are marked is as long."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The run of a row."""

    row: Row
    client: Client
    session: Path
    exit_code: int
    stderr: str
    events: tuple[Event, ...]

    @property
    def marks(self) -> list[Mark]:
        return [event for event in self.events if isinstance(event, Mark)]

    @property
    def neighbours(self) -> float:
        """Cores that other processes used in the BURST_S seconds in which they used most; 0 if the row itself starts busy
        processes.
        """
        busy = [event.neighbours.cpu_ratio for event in self.events if isinstance(event, Sample) and event.neighbours]
        has_busy_processes = self.row.busy_cores or set(self.row.neighbours) - {"idle"}
        return 0.0 if has_busy_processes else busiest([cores for cores in busy if cores is not None])

    @property
    def summary(self) -> dict[str, Any]:
        """What `export --format json` prints."""
        return summarise(Timeline(self.events))

    @property
    def verdict(self) -> Verdict:
        found = judge(self.row, self.marks, self.stderr, self.neighbours)
        exported = {each["id"] for part in ("causes", "bottlenecks", "leaks") for each in self.summary.get(part, ())}
        lost = tuple(
            f"{each} in the export" for each in self.row.expected if each not in (*exported, *found.missing, *self.row.reported)
        )
        bad_end = () if self.exit_code in self.row.exit_codes else (f"exit code {self.exit_code}",)
        return Verdict((*found.missing, *lost), (*found.wrong, *bad_end))


def busiest(cores: Sequence[float]) -> float:
    """The greatest mean of BURST_S consecutive seconds; of all if there are fewer; 0 without any."""
    if len(cores) < BURST_S:
        return mean(cores) if cores else 0.0
    return max(mean(cores[at : at + BURST_S]) for at in range(len(cores) - BURST_S + 1))


def why_not(row: Row, workers: int = 0) -> str:
    """Why this row cannot be carried out here; empty when it can."""
    if workers > 1 and row.one_process:
        return f"with workers: {row.one_process}"
    if reason := missing(*row.programs, *(NAMESPACE_PROGRAMS if is_root() else ())):
        return reason
    return f"needs root for {row.needs_root}" if row.needs_root and not is_root() else ""


def carry_out(row: Row, client: Client, folder: Path, short: bool = False, workers: int = 0) -> Ran:
    """One run of capexplorer in the row's test bed, its files in `folder`. The load comes from `workers` worker processes; 0:
    from the run's own process."""
    folder.mkdir(parents=True)
    port = PORT if is_root() else _free_port()
    with ExitStack() as testbed:
        prefix = testbed.enter_context(namespace(row.namespace))
        groups = testbed.enter_context(cgroups(row.cgroups))
        testbed.enter_context(busy(row.busy_cores))
        testbed.enter_context(neighbours(row.neighbours, folder / "sessions", row.neighbours_at))
        acts = {"act": row.act} if row.target == SERVE.parent.name else {}
        params = {**acts, **row.params} | ({"cgroup": groups} if groups else {})
        if row.served_by == "trial":
            testbed.enter_context(service([*prefix, *_idle_core(row)], folder, port, params, row.tls))
        profile = folder / f"{row.name}.toml"
        profile.write_text("".join(f"{key} = {_toml(value)}\n" for key, value in _profile(row, client, params, port).items()))
        arguments = [str(profile), "--plan", _plan(row, short, workers), *row.arguments]
        arguments += ["--workers", str(workers)] if workers else []
        return _run(row, client, folder, [*prefix, *row.before], arguments)


def _plan(row: Row, short: bool, workers: int) -> str:
    """The row's plan, of levels such as `200:9s`; its users are multiplied by the number of workers if the fault needs that."""
    plan = row.short if short else row.plan
    if not row.users_of_each_process or not workers:
        return plan
    levels = (level.partition(":") for level in plan.split(","))
    return ",".join(f"{int(users) * workers}:{hold}" for users, _, hold in levels)


def _idle_core(row: Row) -> list[str]:
    """Command prefix that pins the service to the core without busy processes."""
    return ["taskset", "-c", str(1 - row.busy_cores[0])] if row.busy_cores else []


def _run(row: Row, client: Client, folder: Path, before: Sequence[str], arguments: Sequence[str]) -> Ran:
    sessions = folder / "sessions"
    sessions.mkdir(exist_ok=True)
    command = [*before, PROGRAM, "run", *arguments, "--headless", "--sessions-dir", str(sessions)]
    if row.small_disk:
        command = _on_small_disk(command, sessions, row.small_disk)
    if row.small_folder:
        command = _in_small_folder(command, folder / "targets" / row.target, row.small_folder)
    environment = {**os.environ, "FAULT_CLIENT": client}
    with (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder if row.small_folder else HERE,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    stderr = (folder / "stderr").read_text(errors="replace")
    logs = sorted(sessions.glob("*.jsonl"))
    if not logs:
        raise RuntimeError(f"no session: {shlex.join(command)}: {stderr}")
    return Ran(row, client, logs[0], process.returncode, stderr, tuple(read(logs[0])))


def _on_small_disk(command: Sequence[str], sessions: Path, size: str) -> list[str]:
    """The sessions folder on a mount of its own; its files are copied out at the end."""
    kept = sessions.with_name("kept")
    kept.mkdir()
    script = (
        f"mount -t tmpfs -o size={size} none {sessions} || exit 99; {shlex.join(command)}; code=$?; cp {sessions}/* {kept}; "
        f"umount {sessions}; cp {kept}/* {sessions}; exit $code"
    )
    return ["unshare", "-m", "sh", "-c", script]


def _in_small_folder(command: Sequence[str], folder: Path, size: str) -> list[str]:
    """The command with a copy of the target on a small file system: a target in the working folder is found first."""
    folder.mkdir(parents=True)
    copied = f"cp {HERE}/targets/{folder.name}/*.* {folder}"
    script = f"mount -t tmpfs -o size={size} none {folder} && {copied} && exec {shlex.join(command)}"
    return ["unshare", "-m", "sh", "-c", script]


def _profile(row: Row, client: Client, params: dict[str, Any], port: int) -> dict[str, Any]:
    """The profile of the run, as a TOML table."""
    if row.profile:
        return _shipped(paths.profile(row.profile), row, client)
    users: dict[str, Any] = {
        "client": client,
        "wait_s": _wait(row.wait_s or WAIT_S),
        "keep_alive": row.keep_alive,
        "timeout_s": row.timeout_s,
    }
    if row.locustfile:
        users["locustfile"] = str(HERE / "locustfiles" / row.locustfile)
    else:
        users["task"] = [dict(row.task)]
    where: dict[str, Any] = {"target": row.target, "params": params}
    if row.served_by != "capexplorer":
        where = {"url": (row.host or "http://127.0.0.1:{port}").format(port=port)}
    return {"title": row.fault, **where, "users": users, "guards": {"max_users": 1000}}


def _shipped(path: Path, row: Row, client: Client) -> dict[str, Any]:
    """A profile of the product with the row's client; the path of its locustfile is made absolute."""
    profile = tomllib.loads(path.read_text())
    profile["users"] |= {"client": client} | ({"wait_s": _wait(row.wait_s)} if row.wait_s else {})
    if "locustfile" in profile["users"]:
        profile["users"]["locustfile"] = str(path.with_name(profile["users"]["locustfile"]))
    return profile


def _wait(text: str) -> Any:
    return tomllib.loads(f"wait = {text}")["wait"]


def _toml(value: object) -> str:
    """A value as TOML; tables are written inline."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case _:
            return json.dumps(value)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port

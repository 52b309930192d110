"""One row with one client class: a run of `capexplorer run`, and the problems of its marks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lab.trials.experiments import headless
from lab.trials.experiments.headless import Ran

from . import judging
from .records import MovingRun
from .row import Client, Row

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 300.0
LOCUSTFILE = "steps.py"
"""Locustfile of rows with long tasks, in the folder of the profile."""


def explored(row: Row, run: MovingRun, folder: Path) -> MovingRun:
    """`capexplorer run PROFILE --plan PLAN --headless`, with the run's worker processes; returns the run with its results. Raises
    RuntimeError if there is no session."""
    folder.mkdir(parents=True)
    profile = prepared(row, run.client, folder)
    of_workers = ("--workers", str(run.workers)) if run.workers else ()
    ran = headless.run(folder, str(profile), "--plan", row.plan, *of_workers, timeout_s=TIMEOUT_S, cwd=HERE)
    return msgspec.structs.replace(
        run,
        wrong=tuple(_wrong(row, ran)),
        once=tuple(judging.marked_once(row, ran.marks, ran.timeline.levels)),
        verdict=str(ran.summary["verdict"]),
        seconds=ran.timeline.last_s,
        host_cpu_ratio=ran.median("host_cpu_ratio"),
        exit_code=ran.exit_code,
    )


def _wrong(row: Row, ran: Ran) -> list[str]:
    found = judging.wrong(row, ran.marks, ran.timeline.levels, str(ran.summary["verdict"]))
    return found if ran.exit_code in (0, 4) else [*found, f"exit code {ran.exit_code}"]


def prepared(row: Row, client: Client, folder: Path) -> Path:
    """Write the row's profile, and its locustfile if it has one, into `folder`; returns the path of the profile."""
    profile = folder / f"{row.name}.toml"
    profile.write_text(profile_of(row, client), encoding="utf-8")
    if row.steps:
        (folder / LOCUSTFILE).write_text(locustfile_of(row, client), encoding="utf-8")
    return profile


def profile_of(row: Row, client: Client) -> str:
    """The row's profile as TOML."""
    params = dict(row.params)
    if row.target == "moving":
        params |= {"change": row.change, "at_s": row.at_s, "for_s": row.for_s}
    else:
        params |= {name: value for name, value in (("at_s", row.at_s), ("for_s", row.for_s)) if value}
    values = ", ".join(f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}" for name, value in params.items())
    least_s, most_s = row.think_s
    users = (
        f'locustfile = "{LOCUSTFILE}"\n'
        if row.steps
        else f'client = "{client}"\nwait_s = {{ between = [{least_s}, {most_s}] }}\n[[users.task]]\nname = "{row.path}"\n'
    )
    service = f'title = "{row.what}"\ntarget = "{row.target}"\nparams = {{ {values} }}\n'
    return f"{service}[users]\n{users}[guards]\nmax_users = 200\n"


def locustfile_of(row: Row, client: Client) -> str:
    """A locustfile whose task sends `steps` requests with sleeps between them."""
    base = "FastHttpUser" if client == "fast" else "HttpUser"
    least_s, most_s = row.think_s
    return (
        "import random\nimport time\n\n"
        f"from locust import {base}, task\n\n\n"
        f"class Visitor({base}):\n"
        "    @task\n    def visit(self):\n"
        f"        for _ in range({row.steps}):\n"
        f'            self.client.get("{row.path}")\n'
        f"            time.sleep(random.uniform({least_s}, {most_s}))\n"
    )

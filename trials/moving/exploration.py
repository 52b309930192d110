"""One row with one client class: the run as users start it, and what was wrong with its marks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from trials.experiments.headless import Ran, run

from . import judging
from .row import Client, Row

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 300.0


class MovingRun(msgspec.Struct, frozen=True, kw_only=True):
    """A row of results."""

    row: str
    client: Client
    number: int
    wrong: tuple[str, ...]
    """At the end; empty: all is right."""
    once: tuple[str, ...]
    """Wrong knees that stood at some time."""
    verdict: str
    seconds: float
    host_cpu_ratio: float | None
    """Cores busy, median over settled seconds: the services use a fifth of one."""
    exit_code: int | None


def explored(row: Row, client: Client, number: int, folder: Path) -> MovingRun:
    """`capexplorer run PROFILE --plan PLAN --headless`."""
    folder.mkdir(parents=True)
    profile = folder / f"{row.name}.toml"
    profile.write_text(profile_of(row, client), encoding="utf-8")
    ran = run(folder, str(profile), "--plan", row.plan, timeout_s=TIMEOUT_S, cwd=HERE)
    return MovingRun(
        row=row.name,
        client=client,
        number=number,
        wrong=tuple(_wrong(row, ran)),
        once=tuple(judging.marked_once(row, ran.marks)),
        verdict=str(ran.summary["verdict"]),
        seconds=ran.timeline.last_s,
        host_cpu_ratio=ran.median("host_cpu_ratio"),
        exit_code=ran.exit_code,
    )


def _wrong(row: Row, ran: Ran) -> list[str]:
    found = judging.wrong(row, ran.marks, ran.timeline.levels, str(ran.summary["verdict"]))
    return found if ran.exit_code in (0, 4) else [*found, f"exit code {ran.exit_code}"]


def profile_of(row: Row, client: Client) -> str:
    """TOML."""
    params = dict(row.params)
    if row.target == "moving":
        params |= {"change": row.change, "at_s": row.at_s, "for_s": row.for_s}
    elif row.at_s:
        params["at_s"] = row.at_s
    values = ", ".join(f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}" for name, value in params.items())
    return (
        f'title = "{row.what}"\ntarget = "{row.target}"\nparams = {{ {values} }}\n'
        f'[users]\nclient = "{client}"\nwait_s = {{ between = [{row.think_s[0]}, {row.think_s[1]}] }}\n'
        '[[users.task]]\nname = "/work"\n[guards]\nmax_users = 200\n'
    )

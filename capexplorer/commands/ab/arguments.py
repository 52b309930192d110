"""The options of `capexplorer ab`: each is declared once, as a field. Values that are read from a text are checked here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from ...errors import InputError
from ...model.load import RATE_LEAST_PER_S, RATE_MOST_PER_S, Load, Rate, Users
from ...report.ab.result import in_order
from ...toml import shown
from ..shared_options import option

UNTIL = "5%"
UNTIL_MOST = 0.5
REPEATS_LEAST = 5
"""Fewer differences give no interval at an error of 5% that all questions share (`analysis.paired`)."""
SEED_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AbArguments:
    """As given on the command line."""

    a: str = option("--a", required=True, metavar="BUILD", help="The build to compare with: a URL, profile, git ref or command.")
    b: str = option("--b", required=True, metavar="BUILD", help="The build that is better or worse.")
    profile: str | None = option(
        "--profile",
        metavar="PROFILE",
        help="Whose users request both, where A or B is no profile; at a git ref also what starts the target, as it is there.",
    )
    requests: tuple[str, ...] = option(
        "--request", multiple=True, metavar="REQUEST", help="In place of a profile, what users request, as of `run`. Repeatable."
    )
    values: tuple[str, ...] = option(
        "--values", multiple=True, metavar="NAME=VALUES", help="With --request: what {{NAME}} in it stands for, as of `run`."
    )
    target_cmd: str | None = option(
        "--target-cmd", metavar="COMMAND", help="Of git refs: a command that starts the target in the folder at that ref."
    )
    ready: str | None = option(
        "--ready", metavar="URL", help="Of commands: /PATH or URL that answers with 2xx or 3xx when the target is ready."
    )
    settings: tuple[str, ...] = option("--set", multiple=True, metavar="KEY=VALUE", help="A parameter of both, as of `run`.")
    settings_a: tuple[str, ...] = option("--set-a", multiple=True, metavar="KEY=VALUE", help="A parameter of A alone.")
    settings_b: tuple[str, ...] = option("--set-b", multiple=True, metavar="KEY=VALUE", help="A parameter of B alone.")
    users: str | None = option(
        "--users",
        metavar="N,...",
        help="Loads at which both are measured; default: half of A's knee and 1.5 times as many users, after a search for it.",
    )
    rates: str | None = option("--rates", metavar="PER_S,...", help="Loads as offered rates, in place of users.")
    until: str = option(
        "--until",
        metavar="PERCENT",
        default=UNTIL,
        help=f"The smallest change of goodput that matters (default {UNTIL}); of p95 it is twice that. The run ends once this is"
        " decided.",
    )
    within: str = option("--within", metavar="DURATION", default="10m", help="The longest time under load (default 10m).")
    repeats: int = option(
        "--repeats",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help=f"Start both targets N times ({REPEATS_LEAST} or more), so that the intervals contain what differs between starts.",
    )
    seed: int | None = option(
        "--seed", type=click.IntRange(0, SEED_MOST), metavar="N", help="Of the random order of blocks; default: a new one."
    )
    allow_hosts: tuple[str, ...] = option(
        "--allow-host", multiple=True, metavar="HOST", help="A host other than loopback that may receive load, as of `run`."
    )
    sessions_dir: Path | None = option(
        "--sessions-dir", type=click.Path(path_type=Path), help="Folder in which both sessions are saved."
    )
    json: Path | None = option("--json", type=click.Path(path_type=Path), metavar="FILE", help="Write the result for programs.")
    markdown: Path | None = option(
        "--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Write the result for a pull request."
    )
    html: Path | None = option(
        "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write the result as a page with a chart of the pairs."
    )
    force: bool = option("--force", is_flag=True, help="Overwrite existing files.")


def percent(text: str) -> float:
    """`5%` or `5` as 0.05. Raises InputError."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%?\s*", text)
    if found is None or not 0 < float(found[1]) / 100 <= UNTIL_MOST:
        raise InputError(f"--until: expected a change above 0% and at most {UNTIL_MOST:.0%}, such as 5%, got {shown(text)}")
    return float(found[1]) / 100


def loads_of(users: str | None, rates: str | None) -> tuple[Load, ...]:
    """The loads that were named, ascending; none: they are to be found. Raises InputError."""
    if users is not None and rates is not None:
        raise InputError("--rates: cannot be combined with --users: a level has either")
    if users is not None:
        return in_order(_each("--users", users, "numbers of users such as 10,40", _users))
    return in_order(_each("--rates", rates, "rates a second such as 50,200", _rate)) if rates is not None else ()


def _each(option: str, text: str, expected: str, load: Callable[[str], Load]) -> list[Load]:
    try:
        return [load(each.strip().removesuffix("/s")) for each in text.split(",")]
    except ValueError:
        raise InputError(f"{option}: expected {expected}, got {shown(text)}") from None


def _users(text: str) -> Users:
    if (count := int(text)) < 1:
        raise ValueError(text)
    return Users(count)


def _rate(text: str) -> Rate:
    if not RATE_LEAST_PER_S <= (per_s := float(text)) <= RATE_MOST_PER_S:
        raise ValueError(text)
    return Rate(per_s)

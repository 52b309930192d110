"""`capexplorer sweep`."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from .. import paths
from ..errors import ExitCode, InputError
from ..model.events import Sweep
from ..model.sweep import Params, SettingResult, setting_name, typed
from ..model.timeline import Timeline
from ..report.sweep.drawing import chart
from ..report.sweep.findings import findings
from ..report.sweep.results import results
from ..report.sweep.texts import lines, sentence
from ..run.options import RunOptions
from ..session.catalog import find
from ..session.reader import open_session
from ..steer.plan import duration_s
from ..steer.sweep import most_telling_first, parse, to_explore
from . import shared_options
from .run.arguments import RunArguments
from .run.exploring import check_shell_limits, enter_network, explore_headless
from .run.resolving import resolve
from .shared_options import option, parameters
from .terminal import print_error, print_line, printable

_OF_RUN = (
    "profile", "locustfile", "custom_metrics", "requests", "values", "watches", "target_cmd", "compose", "ready",
    "ready_timeout_s", "spawn_rate", "limits", "label", "sessions_dir", "allow_hosts", "sandbox", "arrivals", "workers",
    "keep_bodies", "metrics",
)  # fmt: skip
"""Arguments that are those of `run`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepArguments:
    """As given on the command line, beside the arguments of `run`."""

    settings: tuple[str, ...] = option(
        "--set",
        multiple=True,
        metavar="NAME=VALUE,...",
        help="Values of a parameter, as of `run --set`: threads=1,2,4,8 or threads=1..8. Repeatable: all combinations.",
    )
    rate: bool = option("--rate", is_flag=True, help="Find the capacity as an offered rate, not the knee in users.")
    within: str | None = option(
        "--within", metavar="DURATION", help="Most time of load with each setting, such as 90s; default: until its search ends."
    )
    resume: str | None = option(
        "--resume",
        metavar="SESSION",
        shell_complete=shared_options.sessions,
        help="Go on with the settings of this sweep that have no verdict yet, and report both together.",
    )
    report: str | None = option(
        "--report", metavar="SESSION", shell_complete=shared_options.sessions, help="Only print the report of a saved sweep."
    )


def _own(name: str) -> bool:
    return name in {each.name for each in fields(SweepArguments)}


@click.command(params=parameters(SweepArguments) + [each for each in parameters(RunArguments) if each.name in _OF_RUN])
def command(**given: Any) -> int:
    """Find the capacity with each setting of the target's parameters: `sweep mixed --set threads=1,2,4,8`.

    The target is restarted with one setting after the other, the ends of the range first, and the autopilot explores each. A
    setting with which it does not start is reported, and the sweep goes on. stdout has a chart, a table and what they say;
    `export` has them of the saved session, with a picture.

    SIGINT, SIGTERM and SIGQUIT end the sweep, which reports what it has; `--resume last` goes on.
    """
    own = SweepArguments(**{name: value for name, value in given.items() if _own(name)})
    asked = {name: value for name, value in given.items() if not _own(name)}
    folders = paths.sessions(given["sessions_dir"])
    if own.report is not None:
        return print_report(_opened(own.report, folders, "--report"))
    before = None if own.resume is None else _opened(own.resume, folders, "--resume")
    options = _options(own, asked, before)
    if before is not None and options.sweep is not None and not to_explore(options.sweep):
        print_error("every setting has a verdict already")
        return print_report(before)
    check_shell_limits(options.profile.limits.generator.open_files)
    enter_network(options)
    return explore_headless(options, PrintedReport())


class PrintedReport:
    """The report of a run that has ended."""

    def of_run(self, log: Path, code: int) -> int:
        """Print it. Returns the exit code."""
        found = print_report(_read(log))
        return code or found


def _opened(name: str, folders: Sequence[Path], where: str) -> Timeline:
    """A saved sweep. Raises InputError."""
    path = find(name, folders)
    timeline = _read(path)
    if timeline.sweep is None:
        raise InputError(f"{where}: {path.stem} is no sweep")
    return timeline


def _read(path: Path) -> Timeline:
    with open_session(path) as log:
        timeline = Timeline(log)
    for note in log.notes:
        print_error(f"{path}: {note}")
    return timeline


def _options(own: SweepArguments, asked: Mapping[str, Any], before: Timeline | None) -> RunOptions:
    """Those of the run that explores the first setting, with the sweep. Raises InputError."""
    typed_settings = parse(own.settings, "--set") if own.settings else _settings_of(before)
    first = most_telling_first(typed_settings)[0]
    run = RunArguments(
        **{**asked, "profile": asked["profile"] or _profile_of(before, asked)},
        users=1,
        settings=tuple(map("=".join, first.items())),
        headless=True,
    )
    options = resolve(run)
    sweep = Sweep(
        t_s=0.0,
        settings=_checked(typed_settings, options),
        finds_rate=own.rate,
        within_s=None if own.within is None else duration_s(own.within, "--within"),
    )
    if before is not None:
        sweep = replace(sweep, earlier=_earlier(before, sweep, options))
    left = to_explore(sweep)
    return with_fields(options, sweep=sweep, params={**options.params, **(left[0] if left else {})})


def _profile_of(before: Timeline | None, asked: Mapping[str, Any]) -> str | None:
    """The profile of the sweep that is continued, unless the command line names the users or the service."""
    header = before.header if before is not None else None
    is_named = any(asked[each] for each in ("locustfile", "requests", "target_cmd", "compose"))
    return None if header is None or is_named else header.profile.get("name")


def _settings_of(before: Timeline | None) -> list[dict[str, str]]:
    if before is None or before.sweep is None:
        raise InputError("--set: expected the values of a parameter, such as --set threads=1,2,4,8")
    return [{name: typed(value) for name, value in params.items()} for params in before.sweep.settings]


def _checked(settings: Sequence[Mapping[str, str]], options: RunOptions) -> tuple[Params, ...]:
    """The settings with their values as the target has them. Raises InputError: not allowed, or two of them are the same."""
    assert options.spec is not None
    found = [{name: options.spec.resolve(each)[name] for name in each} for each in settings]
    same = next((each for index, each in enumerate(found) if each in found[:index]), None)
    if same is not None:
        raise InputError(f"--set: expected each setting once, got {setting_name(same)} twice")
    return tuple(found)


def _earlier(before: Timeline, sweep: Sweep, options: RunOptions) -> tuple[SettingResult, ...]:
    """The results of these settings that the earlier sweep has. Raises InputError if it explored something else."""
    assert before.sweep is not None
    header, names = before.header, sweep.settings[0].keys()
    known = header.target.params if header is not None else {}
    differs = {name for name, value in options.params.items() if name not in names and known.get(name) != value}
    if header is None or options.spec is None or header.target.name != options.spec.name:
        raise InputError(f"--resume: expected a sweep of {options.name}, got one of {header.target.name if header else '?'}")
    if before.sweep.finds_rate != sweep.finds_rate or before.sweep.settings[0].keys() != names or differs:
        what = ", ".join(sorted(differs)) or ("parameters" if before.sweep.settings[0].keys() != names else "--rate")
        raise InputError(f"--resume: expected a sweep under the same conditions, this one differs in {what}")
    return tuple(each for each in results(before) if each is not None and each.has_verdict and each.params in sweep.settings)


# -- the report


def print_report(timeline: Timeline) -> int:
    """The chart, the table and the sentence on stdout. Returns the exit code."""
    found, width = findings(timeline), shutil.get_terminal_size().columns
    if found is None or all(row.result is None for row in found.rows):
        return ExitCode.UNDECIDED
    for line in (*chart(found), "", *lines(found), ""):
        click.echo(printable(line))
    click.echo(textwrap.fill(printable(sentence(found)), max(width, 40), break_on_hyphens=False, break_long_words=False))
    if not found.is_complete and timeline.header is not None:
        print_line(f"to go on with the rest: the same command with --resume {timeline.header.id}")
    return ExitCode.DONE if found.best is not None else ExitCode.UNDECIDED

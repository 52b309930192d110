"""The arguments and options of `capexplorer run`: each is declared once, as a field. Their values are not checked here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click

from ...model.load import Arrivals
from .. import shared_options
from ..shared_options import LocalFile, argument, option

PROFILE_AT = ("knee",)
"""Where `--profile-at` may sample stacks."""

AUTOPILOT_LOADS = ("users", "rate")
"""The kinds of load that the autopilot may step; the first is the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """As given on the command line."""

    profile: str | None = argument(shell_complete=shared_options.profiles)
    locustfile: Path | None = option(
        "-f",
        "--locustfile",
        type=LocalFile(),
        help="A Locust file, which needs no change; several, a.py,b.py; or a folder of them. Its own options and names of user"
        " classes follow at the end, after `--`.",
    )
    custom_metrics: tuple[str, ...] = option(
        "--custom-metric",
        multiple=True,
        metavar="PATTERN",
        help='With -f: events of these names are metrics, no requests, such as "METRIC *"; "!REDIS get": requests after all.'
        " Repeatable.",
    )
    host: str | None = option("--host", metavar="URL", help="URL of a running service; no target is started.")
    requests: tuple[str, ...] = option(
        "--request",
        multiple=True,
        metavar="REQUEST",
        help="In place of a profile, what users request: /PATH, METHOD /PATH [BODY], a curl command, or a file of them (HAR,"
        " OpenAPI). Repeatable.",
    )
    values: tuple[str, ...] = option(
        "--values",
        multiple=True,
        metavar="NAME=VALUES",
        help="With --request: what {{NAME}} in it stands for, another one for each request: A,B,C or FILE.csv[:COLUMN].",
    )
    pid: int | None = option("--pid", type=click.IntRange(min=1), help="With --host: the id of the process to watch.")
    port_of: int | None = option(
        "--port-of",
        type=click.IntRange(1, 65535),
        metavar="PORT",
        help="With --host: watch the process that listens on this port.",
    )
    watches: tuple[str, ...] = option(
        "--watch",
        multiple=True,
        metavar="NAME=TRANSPORT[:SELECTOR]",
        help='Also watch this part, here or elsewhere: "db=ssh db1:port 5432". TRANSPORT: here, ssh HOST, docker exec -i NAME,'
        " any command that gives a shell; SELECTOR: pid N, port N, cgroup PATH, container NAME, unit NAME. A server's own figures"
        ' follow: "db=here:port 5432 postgres=URL" (or redis=, nginx=, statsd=, prometheus=URL metrics=A,B).',
    )
    target_cmd: str | None = option(
        "--target-cmd", metavar="COMMAND", help='A command that starts the target, e.g. "./server --port {port}".'
    )
    compose: Path | None = option(
        "--compose",
        type=LocalFile(),
        metavar="FILE",
        help="A Compose file whose services are started, watched and removed; ${CAPEXPLORER_PORT} in it is a free port.",
    )
    ready: str | None = option(
        "--ready",
        metavar="URL",
        help="With --target-cmd or --compose: /PATH or URL that answers with 2xx or 3xx when the target is ready; tcp: its port "
        "is open.",
    )
    ready_timeout_s: float | None = option(
        "--ready-timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="With --target-cmd or --compose: seconds until the target must be ready, including compilation; default: 120.",
    )
    users: int | None = option("--users", type=click.IntRange(min=0), help="Number of users at the start.")
    max_users: int | None = option(
        "--max-users", type=click.IntRange(min=1), metavar="N", help="Lower the profile's [guards] max_users."
    )
    spawn_rate: float | None = option("--spawn-rate", type=float, help="Users started per second; default: each step takes 1 s.")
    settings: tuple[str, ...] = option(
        "--set",
        multiple=True,
        metavar="KEY=VALUE",
        help="A parameter of the target (`capexplorer targets`), of the profile's `params`, or a {KEY} of --target-cmd.",
    )
    limits: tuple[str, ...] = option(
        "--limit", multiple=True, metavar="KEY=VALUE", help="Override the profile's [limits], e.g. target.open_files=64."
    )
    label: str | None = option("--label", help="Label stored in the session; default: the git commit of the target's folder.")
    sessions_dir: Path | None = option(
        "--sessions-dir", type=click.Path(path_type=Path), help="Folder in which the session is saved."
    )
    allow_hosts: tuple[str, ...] = option(
        "--allow-host",
        multiple=True,
        metavar="HOST",
        help="A host other than loopback that may receive load: an address, or a name and the addresses it resolves to. To"
        " others, connections of Python's sockets are refused; ctypes, libraries in C and child processes are not checked.",
    )
    sandbox: bool = option(
        "--sandbox",
        is_flag=True,
        help="Run load and target in a network that has only loopback, for a locustfile that you do not trust. Files are not"
        " protected. Linux, with user namespaces.",
    )
    baseline: str | None = option(
        "--baseline", metavar="SESSION", help="Draw the curve of this saved session behind the live one (key b)."
    )
    mouse: bool = option(
        "--mouse", is_flag=True, help="Keys, tabs, lists and charts can be clicked; selecting text then needs Shift."
    )
    headless: bool = option(
        "--headless",
        is_flag=True,
        help="Without a screen: needs --plan, --autopilot, --require or a locustfile with a shape; prints the session's path.",
    )
    detach: bool = option(
        "--detach",
        is_flag=True,
        help="In the background, without a screen: prints the session's id when the target is ready. `capexplorer attach`"
        " shows it.",
    )
    plan: str | None = option(
        "--plan", metavar="PLAN", help='Name of a plan in the profile, or the text of a plan: "10:30s,50:30s,100:30s".'
    )
    arrivals: Arrivals | None = option(
        "--arrivals",
        type=click.Choice(get_args(Arrivals)),
        help="How iterations of an offered rate arrive: at random, or evenly; default: the profile's `[users] arrivals`.",
    )
    workers: str | None = option(
        "--workers",
        metavar="N|auto",
        help="Run users in N worker processes instead of this one; auto: one less than there are cores, at least 1.",
    )
    bind: str | None = option(
        "--bind", metavar="ADDRESS:PORT", help="Where workers of other machines join (`capexplorer worker`)."
    )
    expect_workers: int | None = option(
        "--expect-workers", type=click.IntRange(min=1), metavar="N", help="With --bind: wait for N workers before the load."
    )
    plain_workers: bool = option(
        "--plain-workers",
        is_flag=True,
        help="With --bind: `locust --worker` may join. There is no secret: any client that reaches the port may join.",
    )
    keep_bodies: bool = option(
        "--keep-bodies",
        is_flag=True,
        help="At the end, write a bounded sample of whole requests next to the log (ID.requests, without secrets, mode 0600);"
        " replay shows it.",
    )
    traceparent: bool = option(
        "--traceparent",
        is_flag=True,
        help="Send the header `traceparent` with a random trace id, so that services record a trace of each request.",
    )
    trace_url: str | None = option(
        "--trace-url",
        metavar="URL",
        help="As --traceparent; where a trace is shown: http://127.0.0.1:3200/trace/{trace_id}. Kept requests (R) have the link.",
    )
    metrics: str | None = option(
        "--metrics",
        metavar="ADDRESS:PORT",
        help="Answer Prometheus there, in a process of its own that ends with the run (`capexplorer metrics`).",
    )
    requirements: tuple[str, ...] = option(
        "--require",
        multiple=True,
        metavar="REQUIREMENT",
        help='What the service must do: "capacity >= 100/s", "knee >= 40", "p95 <= 300ms @ 50 users", "failures <= 0.1% @ 80/s".'
        " Repeatable. The run goes to the loads that decide it, and ends once it is decided: exit code 0 met, 3 not met, 5"
        " undecided.",
    )
    within: str | None = option(
        "--within",
        metavar="DURATION",
        help="With --require: time in which it is to be decided; default: 5m, or as the plan takes.",
    )
    autopilot: str | None = option(
        "--autopilot",
        type=click.Choice(AUTOPILOT_LOADS),
        metavar="[users|rate]",
        help="Start the autopilot: it finds and verifies the knee; `rate`: it finds the capacity as an offered rate.",
    )
    profile_at: str | None = option(
        "--profile-at",
        type=click.Choice(PROFILE_AT),
        metavar="knee",
        help="Once the autopilot has found the knee: sample the target's stacks for 10 s at low load and 20% beyond the knee, and"
        " report which functions the added time is in. In plans the step `profile 10s` does it.",
    )
    why: bool = option(
        "--why",
        is_flag=True,
        help="With --autopilot: once the knee is found, short experiments there (at most 20 s each: half the pauses, one endpoint"
        " alone, and without it, new connections) tell a lock, a pool, a rate limiter and other causes apart.",
    )
    junit: Path | None = option(
        "--junit",
        type=LocalFile(),
        metavar="FILE",
        help="With --headless: write what is required, and --fail-if, as test cases (JUnit XML) for a CI system.",
    )
    summary: Path | None = option(
        "--summary",
        type=LocalFile(),
        metavar="FILE",
        help="With --headless: write a short page in Markdown, as for a pull request's comment. It is also appended to"
        " $GITHUB_STEP_SUMMARY where that is set.",
    )
    picture_url: str | None = option(
        "--picture-url",
        metavar="URL",
        help="With --summary: the page links to URL in place of a chart in Mermaid code; the picture is written beside FILE.",
    )
    baseline_store: Path | None = option(
        "--baseline-store",
        type=LocalFile(),
        metavar="DIR",
        help="With --headless: compare with the latest session in this folder of the same profile on the same kind of machine.",
    )
    fail_if: tuple[str, ...] = option(
        "--fail-if",
        multiple=True,
        metavar="CONDITION",
        help='With --baseline-store: exit with code 3 if it holds, such as "p95@50>10%"; see `capexplorer compare --help`.',
    )
    update_baseline: bool = option(
        "--update-baseline",
        is_flag=True,
        help="With --baseline-store: keep this session there as the latest one if the exit code is 0 and no other process"
        " disturbed it.",
    )
    locust_arguments: tuple[str, ...] = ()
    """What followed `--`."""

    @property
    def names_service(self) -> str | None:
        """The option that names the service; None: the profile does."""
        given = (("--host", self.host), ("--target-cmd", self.target_cmd), ("--compose", self.compose))
        return next((option for option, value in given if value is not None), None)

    @property
    def of_results(self) -> dict[str, object]:
        """The options about what a headless run writes at its end, with their values; without those that are not given."""
        given: dict[str, object] = {
            "--junit": self.junit,
            "--summary": self.summary,
            "--picture-url": self.picture_url,
            "--baseline-store": self.baseline_store,
            "--fail-if": self.fail_if,
            "--update-baseline": self.update_baseline,
        }
        return {name: value for name, value in given.items() if value}

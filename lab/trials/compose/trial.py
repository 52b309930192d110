"""Real runs of the services of a Compose file, ended in each possible way (`make compose`).

The image is made from one static program, so that no registry is needed. Most rows use the host's network, for which a daemon
without bridge or iptables is enough; one has services with addresses of their own, a published port and a CPU quota.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

import psutil

from capexplorer.model.events import Ended, Mark, PartState, Target
from capexplorer.model.findings import Bottleneck
from capexplorer.target.containers import ask, compose_command, of_project
from capexplorer.target.place import free_port
from lab.kit import programs
from lab.kit.runs import Run, events_of, session_path, started_run, wait_until
from lab.trial import Judged, Trial, kinds

# -- the services --------------------------------------------------------------------------------------------------------------

IMAGE = "capexplorer-trial"
PASSWORD = "correct-horse-battery"
OTHER_PROJECT = "trial-of-somebody-else"
"""A Compose project that a user started from the same file: no session may touch it."""

_HERE = Path(__file__).resolve().parent


def why_not() -> str:
    """Why the trial cannot run here, with the missing package; empty if it can."""
    absent = programs.missing("docker", "go")
    if absent:
        return absent
    try:
        ask(["docker", "version", "--format", "{{.Server.Version}}"])
    except Exception as error:
        return f"docker's daemon does not answer: {error}"
    return "" if compose_command() else "not installed: docker compose (Debian: apt-get install docker-compose)"


@contextmanager
def image(folder: Path) -> Iterator[None]:
    """Build the program, without a libc, and import it as the only file of an image, which is removed at the end."""
    program, archive = folder / "service", folder / "image.tar"
    build = ["go", "build", "-ldflags=-s -w", "-o", str(program), str(_HERE / "service.go")]
    subprocess.run(build, env={**os.environ, "CGO_ENABLED": "0"}, check=True, timeout=300)
    with tarfile.open(archive, "w") as tar:
        tar.add(program, "service")
    ask(["docker", "import", "--change", 'ENTRYPOINT ["/service"]', str(archive), IMAGE], timeout_s=120)
    try:
        yield
    finally:
        ask(["docker", "rmi", "--force", IMAGE])


def write(folder: Path, *, store: str = "serves") -> dict[str, str]:
    """Write the Compose file and the profile. `store` ("serves", "exits" or "is unhealthy") is what that service does. Returns
    the environment variables that the file needs."""
    command = '[leave, "3"]' if store == "exits" else '[serve, "127.0.0.1:${STORE_PORT}"]'
    checked = "1" if store == "is unhealthy" else "${STORE_PORT}"
    _copy("host-network.yaml", folder, command=command, checked=checked, password=PASSWORD, own_port=str(free_port()))
    return {"STORE_PORT": str(free_port())}


def _copy(compose_file: str, folder: Path, **values: str) -> None:
    """Copy the profile and a Compose file, with these values in place of their names."""
    text = (_HERE / compose_file).read_text(encoding="utf-8")
    for name, value in {"image": IMAGE, **values}.items():
        text = text.replace(f"@{name}@", value)
    (folder / "compose.yaml").write_text(text, encoding="utf-8")
    shutil.copy(_HERE / "shop.toml", folder)


def has_bridge() -> bool:
    """Whether docker's daemon can give containers addresses of their own."""
    return "bridge" in ask(["docker", "network", "ls", "--format", "{{.Driver}}"]).split()


def left_of_sessions() -> list[str]:
    names = ask(["docker", "ps", "-a", "--format", "{{.Names}}"]).split()
    names += ask(["docker", "volume", "ls", "--format", "{{.Name}}"]).split()
    names += ask(["docker", "network", "ls", "--format", "{{.Name}}"]).split()
    return [name for name in names if name.startswith("capexplorer-") or re.fullmatch(r"[0-9a-f]{64}", name)]


def remove_other_project(folder: Path, environment: dict[str, str]) -> None:
    compose = compose_command() or ()
    with suppress(Exception):
        ask(
            [*compose, "-p", OTHER_PROJECT, "-f", str(folder / "compose.yaml"), "down", "--volumes", "--timeout", "1"],
            environment={**os.environ, **environment},
        )


def running_of(project: str) -> int:
    return len(ask(["docker", "ps", "-q", *of_project(project)]).split())


WITHIN_S = 90.0
PLAN, LONG = "2:4s,4:4s", "2:300s"

Problems = dict[str, object]
"""Problems by what is wrong: each is one if its value is true."""
Row = Callable[[Path], Problems]
"""Carries out a row with its files in an empty folder."""


@contextmanager
def session(folder: Path, plan: str, **store: str) -> Iterator[Run]:
    """A run of the services with this plan; `store`: as of `stack.write`."""
    environment = write(folder, **store)
    with started_run(folder, "shop.toml", "--headless", "--plan", plan, cwd=folder, environment=environment) as run:
        yield run
        run.process.wait(WITHIN_S)
        with suppress(AssertionError):  # the supervisor ends the services; what it leaves is a problem of the row
            run.marked.assert_no_process_left()


def until_loaded(run: Run) -> None:
    """Wait until users send requests. Raises AssertionError."""
    wait_until(lambda: "target ready" in run.stderr or run.process.poll() is not None, "a ready target", WITHIN_S)
    sleep(2.0)  # the plan's first level runs by then


def log_of(run: Run) -> str:
    path = session_path(run.sessions)
    return "" if path is None else path.read_text(encoding="utf-8")


def plan_to_its_end(folder: Path) -> Problems:
    """Both services are read as parts, the password appears nowhere, no container is left."""
    with session(folder, PLAN) as run:
        code = run.process.wait(WITHIN_S)
    parts = events_of(run.events(), PartState)
    read = {each.name for each in parts if each.state == "read" and each.pid is not None}
    return {
        f"exit code {code}: {run.stderr[-300:]}": code,
        f"parts that were read: {sorted(read)}": read != {"web", "store"},
        "the password is in the log": PASSWORD in log_of(run),
    }


def ended_by(number: signal.Signals) -> Row:
    """A signal to the app ends the services and saves the session."""

    def row(folder: Path) -> Problems:
        with session(folder, LONG) as run:
            until_loaded(run)
            run.process.send_signal(number)
            run.process.wait(WITHIN_S)
        return {"the log has no end": not events_of(run.events(), Ended)}

    return row


def ended_while_starting(folder: Path) -> Problems:
    """SIGTERM while a service is not healthy yet."""
    with session(folder, LONG, store="is unhealthy") as run:
        wait_until(left_of_sessions, "a container", WITHIN_S)
        run.process.send_signal(signal.SIGTERM)
        run.process.wait(WITHIN_S)
    return {}


def app_killed(folder: Path) -> Problems:
    """The supervisor ends the services of an app that was killed."""
    with session(folder, LONG) as run:
        until_loaded(run)
        run.process.kill()
    return {}


def all_killed(folder: Path) -> Problems:
    """Nothing can end the services of a session whose processes are all killed; the next session removes them."""
    with session(folder, LONG) as run:
        until_loaded(run)
        descendants = psutil.Process(run.process.pid).children(recursive=True)
        run.process.kill()
        for each in descendants:
            with suppress(psutil.NoSuchProcess):
                each.kill()
    survived = left_of_sessions()
    (after := folder / "after").mkdir()
    with session(after, PLAN) as run:
        code = run.process.wait(WITHIN_S)
    return {
        "no container survived the kill, so the row tests nothing": not survived,
        f"exit code {code}: {run.stderr[-300:]}": code,
    }


def service_dies(folder: Path) -> Problems:
    """A container that ends under load ends the run, with one line that names it."""
    with session(folder, LONG) as run:
        until_loaded(run)
        store = next(name for name in ask(["docker", "ps", "--format", "{{.Names}}"]).split() if "store" in name)
        ask(["docker", "kill", store])
        code = run.process.wait(WITHIN_S)
    return {
        f"exit code {code}": code != 4,
        "no death of the target in the log": not [each for each in events_of(run.events(), Target) if each.state == "died"],
        f"last line: {run.stderr[-300:]}": "store: exited with code 137" not in run.stderr.splitlines()[-1],
    }


def not_started(store: str, expected: str) -> Row:
    """A service that fails before all are ready ends the run with its last lines."""

    def row(folder: Path) -> Problems:
        with session(folder, LONG, store=store) as run:
            code = run.process.wait(WITHIN_S)
        return {
            f"exit code {code}": code != 4,
            f"printed: {run.stderr[-300:]}": expected not in run.stderr,
            "the password was printed": PASSWORD in run.stderr + log_of(run),
        }

    return row


def beside_others(folder: Path) -> Problems:
    """Two sessions and the containers that a user started from the same file run at once: none of them disturbs another."""
    environment = write(folder)
    up = [*(compose_command() or ()), "-p", OTHER_PROJECT, "-f", str(folder / "compose.yaml"), "up", "-d"]
    ask(up, timeout_s=60, environment={**os.environ, **environment})
    try:
        folders = [folder / "one", folder / "two"]
        for each in folders:
            each.mkdir()
        with session(folders[0], PLAN) as one, session(folders[1], LONG) as two:
            until_loaded(two)
            code = one.process.wait(WITHIN_S)
            running = len([name for name in left_of_sessions() if re.search(r"[-_](web|store)[-_]1\Z", name)])
            two.process.send_signal(signal.SIGTERM)
            two.process.wait(WITHIN_S)
        volumes = ask(["docker", "volume", "ls", "--format", "{{.Name}}"]).split()
        others = running_of(OTHER_PROJECT)
        return {
            f"exit code {code}: {one.stderr[-300:]}": code,
            f"{running} containers of the second session ran when the first had ended": running != 2,
            f"{others} containers of the other project run": others != 2,
            "the other project's volume is gone": f"{OTHER_PROJECT}_data" not in volumes,
        }
    finally:
        remove_other_project(folder, environment)


def throttled_on_a_bridge(folder: Path) -> Problems:
    """Services with addresses of their own behind a published port: the CPU quota of the store limits, and is named for no other
    service."""
    _copy("bridge.yaml", folder)
    with started_run(folder, "shop.toml", "--headless", "--plan", "2:8s,10:12s,20:12s,40:15s", cwd=folder) as run:
        code = run.process.wait(2 * WITHIN_S)
    found = [each.finding for each in events_of(run.events(), Mark) if isinstance(each.finding, Bottleneck)]
    limits = sorted({(each.part or "target", each.name) for each in found if each.name != "not_saturated"})
    is_right = ("store", "cpu_throttled") in limits and all(part == "store" for part, _ in limits)
    return {f"exit code {code}: {run.stderr[-300:]}": code, f"limits that were marked: {limits}": not is_right}


def nothing_left() -> Problems:
    """Whether containers, volumes or networks of sessions are left after the grace period of the services."""
    with suppress(AssertionError):
        wait_until(lambda: not left_of_sessions(), "nothing left", WITHIN_S)
    left = left_of_sessions()
    return {f"left: {left}": left}


ROWS: dict[str, Row] = {
    "plan-to-its-end": plan_to_its_end,
    "sigint": ended_by(signal.SIGINT),
    "sigterm": ended_by(signal.SIGTERM),
    "sighup": ended_by(signal.SIGHUP),
    "sigterm-while-starting": ended_while_starting,
    "app-killed": app_killed,
    "all-killed": all_killed,
    "service-dies": service_dies,
    "service-exits-at-start": not_started("exits", "store: exited with code 3"),
    "service-unhealthy": not_started("is unhealthy", "store: unhealthy"),
    "beside-others": beside_others,
    "throttled-on-a-bridge": throttled_on_a_bridge,
}


def problems_of(name: str, folder: Path) -> tuple[str, ...]:
    folder.mkdir(parents=True, exist_ok=True)
    return kinds(ROWS[name](folder) | nothing_left())


class Compose(Trial[str]):
    """All rows, one after another: containers of sessions are those of the whole machine."""

    name = "compose"
    about = "Runs the services of a Compose file, and ends them in each possible way. Needs docker and go."
    cases: Mapping[str, str] = {name: name for name in ROWS}

    def why_not(self, case: str, options: argparse.Namespace) -> str:
        return "docker's daemon has no bridge network" if case.endswith("bridge") and not has_bridge() else ""

    def carry_out(self, case: str, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        return Judged(wrong=problems_of(case, folder))

    def main(self, argv: Sequence[str] | None = None) -> int:
        if reason := why_not():
            print(f"skipped: {reason}")
            return 0
        with tempfile.TemporaryDirectory(prefix="compose-") as folder, image(Path(folder)):
            return super().main(argv)

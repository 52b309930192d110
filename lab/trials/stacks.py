"""Services with a cause planted at a known line: whether sampled stacks name it (`python -m lab.trials stacks`).

Each is explored at a low load and beyond its knee, with stacks of both. Its source marks the function that is the cause between
`planted NAME` and `end`; right is a frame within.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from capexplorer.analysis.stacks import difference
from capexplorer.model.stacks import Frame
from lab.kit.programs import missing
from lab.kit.runs import LAB, Ran, headless
from lab.trial import Judged, Trial

TARGET = LAB / "targets" / "planted"
SOURCES = {"python": "serve.py", "go": "serve.go", "java": "Serve.java", "node": "serve.js", "c": "serve.c"}
PROGRAMS = {"go": ("go",), "java": ("java", "javac"), "node": ("node",), "c": ("gcc", "perf")}
TIMEOUT_S = 180.0


@dataclass(frozen=True, slots=True)
class Planted:
    """A service and its users, who think for 0.1 s."""

    name: str
    """LANGUAGE-CAUSE."""
    users: int
    """About twice those of the knee; the low load has 2."""
    needs: tuple[str, ...] = ()
    """Programs beside those of its language."""

    @property
    def language(self) -> str:
        return self.name.partition("-")[0]

    @property
    def cause(self) -> str:
        return self.name.partition("-")[2]

    def has(self, frame: Frame) -> bool:
        """Whether a frame is within the planted lines."""
        source = TARGET / SOURCES[self.language]
        first, last = planted_lines(source.read_text(encoding="utf-8"), self.cause)
        return Path(frame.file).name == source.name and first <= frame.line <= last

    @property
    def profile(self) -> str:
        return (
            f'title = "A planted cause: {self.name}"\ntarget = "planted"\nparams = {{ cause = "{self.name}" }}\n'
            '[users]\nwait_s = { poisson = 10 }\n[[users.task]]\nname = "/work"\n[guards]\nmax_users = 300\n'
        )


def planted_lines(text: str, cause: str) -> tuple[int, int]:
    """The first and the last line of a cause in its source."""
    lines = [line.strip(" #/") for line in text.splitlines()]
    first = lines.index(f"planted {cause}")
    return first + 1, lines.index("end", first) + 1


SERVICES = (
    Planted("python-lock", 30),
    Planted("python-pool", 36),
    Planted("python-gil", 40),
    Planted("python-regex", 40),
    Planted("python-queries", 30),
    Planted("python-row", 30, needs=("psql",)),
    Planted("go-mutex", 30),
    Planted("go-channel", 36),
    Planted("go-garbage", 120),
    Planted("java-synchronized", 30),
    Planted("java-pool", 36),
    Planted("node-cpu", 40),
    Planted("node-libuv", 60),
    Planted("c-spin", 12),
)
"""Those on which the sampling was made."""

UNSEEN = (
    Planted("python-condition", 36),
    Planted("python-sort", 60),
    Planted("python-parse", 60),
    Planted("go-readers", 40),
    Planted("go-condition", 36),
    Planted("go-hash", 120),
    Planted("java-lock", 40),
    Planted("java-semaphore", 36),
    Planted("java-regex", 60),
    Planted("node-parse", 60),
    Planted("node-zip", 60),
    Planted("c-hash", 120),
)
"""Those that were written after it. One changed it (node-zip), and the causes of two were made to cost more: they took next to
nothing."""

FRESH = (
    Planted("python-semaphore", 32),
    Planted("python-compress", 40),
    Planted("go-tokens", 30),
    Planted("go-json", 60),
    Planted("java-queue", 32),
    Planted("java-sort", 60),
    Planted("node-mutex", 32),
    Planted("c-sort", 60),
)
"""Those that were written after these, and changed nothing in it."""


class Stacks(Trial[Planted]):
    """One at a time: some of the services compute."""

    name = "stacks"
    about = "Whether sampled stacks name the line at which a cause is planted, of 34 services."
    cases = {each.name: each for each in (*SERVICES, *UNSEEN, *FRESH)}

    def why_not(self, case: Planted, options: argparse.Namespace) -> str:
        return missing(*PROGRAMS.get(case.language, ()), *case.needs)

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--at-knee", action="store_true", help="the autopilot finds the knee, where stacks are sampled")

    def variants(self, case: Planted, options: argparse.Namespace) -> Sequence[str]:
        return ("knee",) if options.at_knee else ("",)

    def carry_out(self, case: Planted, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        profile = folder / f"{case.name}.toml"
        profile.write_text(case.profile, encoding="utf-8")
        plan = f"2:8s, profile 5s, {case.users}:15s, profile 5s"
        how = ("--profile-at", "knee") if variant else ("--plan", plan)
        return judged(case, headless(folder, str(profile), *how, timeout_s=4 * TIMEOUT_S if variant else TIMEOUT_S, cwd=LAB))


def judged(case: Planted, ran: Ran) -> Judged:
    found, others = difference(ran.timeline), _others_cores(ran)
    failed = [line for event in ran.timeline.stacks for line in event.failed]
    if found is None or found.named is None:
        why = found.unnamed if found is not None else "no stacks"
        return Judged(
            missing=("frame",), busy_cores=others, figures={"unnamed": why, "failed": failed, "exit_code": ran.exit_code}
        )
    named = found.named.function
    figures = {
        "named": f"{named.frame.function} {Path(named.frame.file).name}:{named.frame.line}",
        "by": f"{found.named.how} {found.named.clock}",
        "share": round(found.named.share_ratio, 3),
        "slower_ms": round(found.slower_ms or 0.0, 1),
        "failed": failed,
    }
    return Judged(wrong=() if case.has(named.frame) else ("frame",), busy_cores=others, figures=figures)


def _others_cores(ran: Ran) -> float:
    """Cores that other processes used at the high load."""
    known = [level["others_cpu_ratio"] for level in ran.summary["levels"] if level.get("others_cpu_ratio") is not None]
    return round(max(0.0, known[-1]), 2) if known else 0.0

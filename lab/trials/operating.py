"""Whether the load that is recommended holds on real services (`python -m lab.trials operating`).

The autopilot explores each of the ten services of lab/trials/services.py; then the load that the session recommends is held for
SOAK_S. Wrong is a goodput below, or a p95 above the promised interval by more than NEAR, or more failures than promised.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lab.kit.runs import LAB, Ran, headless
from lab.population.operated import NEAR
from lab.trial import Judged, Trial
from lab.trials.services import SERVICES, TIMEOUT_S, KnownService, Services

SOAK_S = 600

FAILURES_MORE = 0.001


def judged(promised: dict[str, Any], soaked: dict[str, Any]) -> Judged:
    """`promised`: of the summary's `recommended`; `soaked`: the soak's level."""
    goodput, p95 = promised["goodput_per_s"], promised["p95_ms"]
    per_s, p95_ms, failed = soaked["goodput_rps"], soaked["latency_ms"]["p95"], soaked["failure_ratio"]
    wrong = {
        "goodput": goodput is not None and per_s * NEAR < (goodput["low"] or goodput["value"]),
        "p95": p95 is not None and p95_ms > NEAR * (p95["high"] or p95["value"]),
        "failures": failed > (promised["failure_ratio"] or 0.0) + FAILURES_MORE,
    }
    missing = [name for name, found in (("goodput", goodput), ("p95", p95)) if found is None]
    return Judged(
        missing=tuple(missing),
        wrong=tuple(name for name, is_wrong in wrong.items() if is_wrong),
        figures={
            "users": promised["users"], "is_measured": promised["measured"], "goodput_per_s": goodput, "p95_ms": p95,
            "soak_per_s": per_s, "soak_p95_ms": p95_ms, "soak_failures": failed,
            "soak_s": soaked["ended_s"] - soaked["settled_s"],
        },
    )  # fmt: skip


class Operating(Trial[KnownService]):
    """The services sleep rather than compute, so several can run at once."""

    name = "operating"
    about = "Ten minutes of the recommended load on ten services."
    cases = {each.name: each for each in SERVICES}
    parallel = 2
    repeats = 1
    attempts = 1

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--soak", type=int, default=SOAK_S, metavar="SECONDS")

    def why_not(self, case: KnownService, options: argparse.Namespace) -> str:
        return Services().why_not(case, options)

    def carry_out(self, case: KnownService, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        profile = folder / f"{case.name}.toml"
        profile.write_text(case.profile, encoding="utf-8")
        explored = headless(folder / "explored", str(profile), "--autopilot", timeout_s=TIMEOUT_S, cwd=LAB)
        found = _by_users(explored)
        if not found:
            return Judged(missing=("load",), figures={"verdict": explored.summary["verdict"]})
        plan = f"{found[-1]['users']:.0f}:{options.soak}s"
        soak = headless(folder / "soak", str(profile), "--plan", plan, timeout_s=2 * options.soak + 60, cwd=LAB)
        return judged(found[-1], max(soak.summary["levels"], key=lambda level: level["requests"]))


def _by_users(ran: Ran) -> list[dict[str, Any]]:
    return [each for each in ran.summary["recommended"] if each["users"] is not None]

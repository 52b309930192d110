"""Which cause experiments name at the knee of twelve real services: `python -m lab.trials confirmed [NAME ...]`.

Four runtimes, each limited by a lock, a pool or a rate limiter; all have a parameter `pool`, which only the pools use. The right
cause is to be confirmed, and no other. What is left without being confirmed is missing, not wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import msgspec

from capexplorer.model.experiments import Explanation, LimitCause
from lab.kit.runs import LAB, headless
from lab.trial import Judged, Trial

TIMEOUT_S = 900.0
RUNTIMES = ("python", "go", "java", "node")
CAUSES: tuple[LimitCause, ...] = ("lock", "pool", "rate_limit")

PROFILE = """\
title = "{runtime}: {cause}"
target = "causes"
params = {{ runtime = "{runtime}", cause = "{cause}" }}

[users]
wait_s = {{ poisson = 3.3 }}

[[users.task]]
name = "/a"

[[users.task]]
name = "/b"
"""


class Service(msgspec.Struct, frozen=True):
    runtime: str
    cause: LimitCause


SERVICES: Mapping[str, Service] = {f"{runtime}-{cause}": Service(runtime, cause) for runtime in RUNTIMES for cause in CAUSES}


class Confirmed(Trial[Service]):
    """The services sleep rather than compute, so several run at once."""

    name = "confirmed"
    about = "Which cause experiments confirm at the knee of twelve real services."
    cases = SERVICES
    parallel = 3

    def carry_out(self, case: Service, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        profile = folder / "service.toml"
        profile.write_text(PROFILE.format(runtime=case.runtime, cause=case.cause), encoding="utf-8")
        ran = headless(folder, str(profile), "--autopilot", "--why", timeout_s=TIMEOUT_S, cwd=LAB)
        explained = ran.timeline.explained.get(0)
        found = explained.explanation if explained is not None else Explanation(users=0, causes=())
        knee = ran.timeline.verdicts[0].capacity.knee if 0 in ran.timeline.verdicts else None
        tried = [each for each in ran.timeline.levels if each.opened.experiment is not None]
        ruled_out = explained is not None and case.cause not in found.left
        return Judged(
            missing=() if found.confirmed == case.cause else (case.cause,),
            wrong=tuple(each for each in (found.confirmed, "ruled out" if ruled_out else None) if each and each != case.cause),
            figures={
                "knee_users": knee.users if knee is not None else None,
                "left": found.left,
                "reasons": [each.reason for each in found.inferences],
                "ratios": [(each.experiment.name, each.experiment.param, round(each.ratio, 3)) for each in found.outcomes],
                "experiments_s": round(sum((each.ended_s or each.started_s) - each.opened.t_s for each in tried)),
                "exit_code": ran.exit_code,
            },
        )

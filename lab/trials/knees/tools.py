"""Tools of others that find a load by themselves, run against a real service as their users run them: PreScale and brk.

`make knees` installs them into `.rivals/`: PreScale into an environment of its own, brk by cargo, if that is there.
"""

from __future__ import annotations

import json
import re
import subprocess
import time

from lab.kit.runs import ROOT

from .exploration import Exploration, row
from .finders import MOST_FAILURES, NO_KNEE, P95_FACTOR, Answer, Steps
from .services import LiveService

FOLDER = ROOT / ".rivals"
PRESCALE = FOLDER / "bin" / "prescale"
BRK = FOLDER / "bin" / "brk"
MOST_S = 900

TOOLS = {"PreScale itself": PRESCALE, "brk itself": BRK}
"""What is installed where; a tool that is not there is left out."""


def run_tool(tool: str, service: LiveService, url: str, number: int) -> list[Exploration]:
    return (brk if TOOLS[tool] == BRK else prescale)(service, url, number)


def prescale(service: LiveService, url: str, number: int) -> list[Exploration]:
    """`prescale run` with the think time of the service's users; what else it could be told keeps its default. One row for what
    it "survives", and one for its "saturation"."""
    began_s = time.monotonic()
    command = [PRESCALE, "run", url, "--think-time", f"{service.system.think_s:g}", "--json", "--no-save", "--ignore-robots"]
    printed = _printed(*map(str, command))
    seconds = time.monotonic() - began_s
    found, _ = json.JSONDecoder().raw_decode(printed[printed.index("{") :])
    verdict, stage_s = found["verdict"], found["config"]["stage_seconds"]
    steps: Steps = [(stage["users"], stage_s) for stage in found["stages"]]
    survives = NO_KNEE
    if verdict["onset_users"] is not None:
        band = verdict["confidence"]
        survives = Answer(verdict["survives_users"], None, band["survives_low"], band["survives_high"])
    saturation = Answer(verdict["saturation_users"]) if verdict["saturated"] else NO_KNEE
    knees = (service.system.knee_users,)
    return [
        row("PreScale itself (survives)", service.name, number, knees, survives, seconds, steps),
        row("PreScale itself (saturation)", service.name, number, knees, saturation, seconds, steps),
    ]


PHASE_S = 10


def brk(service: LiveService, url: str, number: int) -> list[Exploration]:
    """`brk` with one more concurrent request in each phase. It has no think time, so N* is the number of workers."""
    began_s = time.monotonic()
    timeout_ms = P95_FACTOR * service.system.sleep_s * 1000
    command = [BRK, url, "--conn", "1", "--pace", "1", "--phase", f"{PHASE_S}s", "--timeout", f"{timeout_ms:g}ms"]
    printed = _printed(*map(str, command), "--accept", f"{100 * (1 - MOST_FAILURES):g}", "--max", "60")
    passed = [float(users) for users in re.findall(r"Done \((\d+) concurrent", printed)]
    broken = re.search(r"Broken \((\d+) concurrent", printed)
    answer = Answer(passed[-1], None, passed[-1], float(broken[1])) if passed and broken else NO_KNEE
    steps: Steps = [(users, PHASE_S) for users in [*passed, *([float(broken[1])] if broken else [])]]
    knees = (float(service.system.workers),)
    return [row("brk itself", service.name, number, knees, answer, time.monotonic() - began_s, steps)]


def _printed(*command: str) -> str:
    """What it prints, its errors last; its exit code says only what it found."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=MOST_S, stdin=subprocess.DEVNULL, check=False)
    return ran.stdout + ran.stderr

"""`python -m lab.trials NAME ...` carries out a trial (`make NAME`); its exit code is 1 if a run is wrong."""

from __future__ import annotations

import sys
from pkgutil import resolve_name

TRIALS = {
    "aa-constructed": "aa.trial:Constructed",
    "aa-real": "aa.trial:Real",
    "aa-simulated": "aa.trial:Simulated",
    "ab-quiet": "ab:Quiet",
    "ab-real": "ab:Real",
    "ab-simulated": "ab:Simulated",
    "compose": "compose.trial:Compose",
    "confirmed": "confirmed:Confirmed",
    "conformance": "conformance.trial:Conformance",
    "experiments": "experiments.trial:Experiments",
    "faults": "faults.trial:Faults",
    "fuzz-logs": "fuzz.cases:Logs",
    "fuzz-plans": "fuzz.cases:Plans",
    "fuzz-profiles": "fuzz.cases:Profiles",
    "hangups": "hangups:Hangups",
    "kills": "kills.trial:Kills",
    "knees": "knees.trial:Knees",
    "llm": "llm:Llm",
    "llm-beside": "llm_beside:Beside",
    "lost-workers": "lost_workers:LostWorkers",
    "moving": "moving:Moving",
    "operating": "operating:Operating",
    "parts": "parts.trial:Parts",
    "protocols": "protocols.trial:Protocols",
    "requirements": "requirements:RequirementTrial",
    "requirements-real": "requirements_real:RealRequirements",
    "services": "services:Services",
    "stacks": "stacks:Stacks",
    "sweeps": "sweeps:Sweeps",
    "sweeps-simulated": "sweeps:SimulatedSweeps",
}

if sys.argv[1:2] and sys.argv[1] in TRIALS:
    sys.exit(resolve_name(f"lab.trials.{TRIALS[sys.argv[1]]}")().main(sys.argv[2:]))
sys.exit(f"usage: python -m lab.trials {{{','.join(TRIALS)}}} ...")

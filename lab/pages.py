"""The pages of trials and benchmarks, from the results that are kept; `make pages` writes them with all others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from lab.bench import clients
from lab.population import score
from lab.trial import Trial, latest
from lab.trials.experiments.trial import Experiments, page_of
from lab.trials.faults.trial import Faults
from lab.trials.knees import page as knees
from lab.trials.knees.trial import KNEES, kept
from lab.trials.llm import Llm
from lab.trials.moving import Moving
from lab.trials.parts.trial import Parts
from lab.trials.services import Services


def _of(trial: Trial[Any]) -> str:
    return trial.page(latest(trial.kept())) or ""


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/bench.md": lambda: clients.page_of(json.loads(clients.DATA.read_text())),
    "docs/benchmark-knees.md": lambda: knees.pages(*map(kept, KNEES))[0],
    "docs/experiments.md": lambda: page_of(latest(Experiments().kept())),
    "docs/faults.md": lambda: _of(Faults()),
    "docs/llm.md": lambda: _of(Llm()),
    "docs/moving.md": lambda: _of(Moving()),
    "docs/parts.md": lambda: _of(Parts()),
    "docs/population.md": score.page,
    "docs/services.md": lambda: _of(Services()),
}

"""Pages of trials and benchmarks are those of the results that are kept; and who may import whom."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.bench import clients, simulated_rates
from lab.kit.runs import ROOT
from lab.trial import Trial, latest
from lab.trials.experiments.trial import Experiments, five_page, knees_page
from lab.trials.faults.trial import ALL as FAULTS
from lab.trials.faults.trial import Faults
from lab.trials.knees import page as knees
from lab.trials.knees.trial import kept
from lab.trials.moving.trial import ALL as MOVING
from lab.trials.moving.trial import Moving
from lab.trials.parts.trial import ALL as PARTS
from lab.trials.parts.trial import Parts
from lab.trials.services.trial import SERVICES, Services

MOST_BYTES = 6_144


def of(trial: Trial[Any]) -> str | None:
    return trial.page(latest(trial.kept()))


PAGES: dict[str, Callable[[], str | None]] = {
    "faults": lambda: of(Faults(FAULTS)),
    "parts": lambda: of(Parts(PARTS)),
    "moving": lambda: of(Moving(MOVING)),
    "services": lambda: of(Services({each.name: each for each in SERVICES})),
    "experiments": lambda: five_page(latest(Experiments().kept())),
    "experiments-knees": lambda: knees_page(latest(Experiments().kept())),
    "benchmark-knees": lambda: knees.pages(kept("knees-simulated"), kept("knees-live"))[0],
    "bench": lambda: clients.page_of(json.loads(clients.DATA.read_text())),
    "rate-worlds": lambda: simulated_rates.page_of(json.loads(simulated_rates.DATA.read_text())),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_its_trial_makes_of_the_results(name: str) -> None:
    committed = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert committed == PAGES[name]()
    assert len(committed.encode()) <= MOST_BYTES, "a summary: rows stay as data"


def test_the_picture_of_the_finders_is_that_of_the_results() -> None:
    assert knees.PICTURE.read_text(encoding="utf-8") == knees.pages(kept("knees-simulated"), kept("knees-live"))[1]


@pytest.mark.parametrize(
    ("folder", "others"), [("lab", "tests|e2e|programs|marked"), ("capexplorer", "lab|tests"), ("targets", "lab")]
)
def test_the_product_imports_no_lab_and_lab_no_tests(folder: str, others: str) -> None:
    pattern = re.compile(rf"^\s*(?:from|import) (?:{others})\b", re.MULTILINE)
    importing = [str(path) for path in Path(ROOT / folder).rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))]
    assert importing == []

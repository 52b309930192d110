"""Findings, stop rules and words of plans are in every list that docs/contributing.md asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import get_args

import msgspec
import pytest

from capexplorer.analysis.ladder import LadderLevel
from capexplorer.analysis.stop_rules import triggered_rules
from capexplorer.model.findings import AnyFinding, Finding, MarkKind
from capexplorer.profile import StopRules
from capexplorer.report.statements import _ORDER
from capexplorer.run.load_control import MACHINE
from capexplorer.steer import plan
from capexplorer.tui.render.timepage import MARK_TAGS
from capexplorer.wording import MARK_KINDS

from .page_tables import table_rows


def concrete_subclasses(base: type[Finding]) -> Iterator[type[Finding]]:
    """Subclasses at any depth that have no subclasses of their own."""
    for subclass in base.__subclasses__():
        yield from list(concrete_subclasses(subclass)) or [subclass]


def test_every_finding_can_be_read_from_a_log() -> None:
    assert set(get_args(AnyFinding)) == set(concrete_subclasses(Finding))
    assert {kind.__struct_config__.tag for kind in get_args(AnyFinding)} == set(get_args(MarkKind))


@pytest.mark.parametrize("listed", [MARK_KINDS, MARK_TAGS, _ORDER], ids=["name", "sign", "order of a report"])
def test_every_kind_of_mark_is_listed(listed: Iterable[str]) -> None:
    assert set(listed) == set(get_args(MarkKind))


WITHIN_ALL_LIMITS = LadderLevel(
    users=10, goodput_rps=100.0, latency_ms=10.0, latency_se_ms=0.1, p95_ms=1.0, p99_ms=1.0, requests=10_000, seconds=60
)
BEYOND_ALL_LIMITS = LadderLevel(
    users=20, goodput_rps=50.0, latency_ms=1_000.0, latency_se_ms=1.0, p95_ms=9_000.0, p99_ms=9_000.0, failure_ratio=0.5,
    requests=10_000, seconds=60,
)  # fmt: skip
RULES = [name for name in msgspec.structs.asdict(StopRules()) if name != "metric"]


@pytest.mark.parametrize("rule", RULES)
def test_every_stop_rule_of_a_profile_can_be_triggered(rule: str) -> None:
    assert [
        each.rule
        for each in triggered_rules({rule: 0.1}, [WITHIN_ALL_LIMITS, BEYOND_ALL_LIMITS], dict.fromkeys(MACHINE, [99.0] * 5))
    ] == [rule]


def test_every_word_of_plans_has_a_meaning() -> None:
    assert set(plan._FORMS) == set(plan._MEANING)


@pytest.mark.parametrize("word", plan._FORMS)
def test_every_word_of_plans_is_on_the_page_of_plans(word: str) -> None:
    assert any(re.search(rf"[` ]{word}[` ]", cells[0]) for cells in table_rows("docs/plans.md"))

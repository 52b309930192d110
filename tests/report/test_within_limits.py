"""Reports of sessions under limits on a single request."""

from __future__ import annotations

from kit.scenario import Scenario, header

from capexplorer.report.compare.environment import MISSING, RunConditions, conditions
from capexplorer.report.formats import FORMATS
from capexplorer.report.statements import opening
from capexplorer.report.summary import summarise

UNDER = header(profile={"slo": {"tpot_ms": 40.0}})


def session() -> Scenario:
    within = Scenario(UNDER).ready().level(users=4, rps=40, p99_ms=900, beyond={"tpot": 0})
    return within.level(users=8, rps=60, p99_ms=900, beyond={"tpot": 45})


def test_levels_of_the_summary_say_what_was_served_and_the_share_beyond_each_limit() -> None:
    first, second = summarise(session().timeline)["levels"]
    assert (second["goodput_rps"], second["throughput_rps"]) == (15.0, 60.0)
    assert second["limits"] == {"served_rps": 60.0, "beyond": {"tpot": 0.75}, "goodput_tokens_per_s": None}
    assert first["limits"]["beyond"] == {}


def test_the_table_of_levels_names_goodput_within_limits_and_the_share_beyond_each() -> None:
    text = FORMATS["md"].of_log(session().events, "a.md")["a.md"].decode()
    title = next(line for line in text.splitlines() if line.startswith("| users"))
    assert "| within limits /s | throughput /s | beyond limits |" in title
    assert "| tpot 75% |" in text and "| none |" in text


def test_limits_on_a_single_request_are_no_objectives_that_lack_levels() -> None:
    assert not any("could not be judged" in each for each in opening(session().timeline))


def test_sessions_with_other_limits_on_a_request_have_another_goodput() -> None:
    runs = [RunConditions(header(profile={"slo": slo}), {}) for slo in ({"tpot_ms": 40.0}, {"p95_ms": 300.0})]
    (row,) = [row for row in conditions(runs) if row.name == "goodput is within"]
    assert row.values == ("tpot_ms 40", MISSING)

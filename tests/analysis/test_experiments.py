"""What experiments at a knee rule out and confirm, in made sessions whose levels have exact figures."""

from __future__ import annotations

from typing import Any

import pytest
from kit.scenario import Scenario
from msgspec.structs import replace

from capexplorer.analysis.epoch_view import EpochView
from capexplorer.analysis.experiments import explain
from capexplorer.model.events import Explained, Mark, Verdict
from capexplorer.model.experiments import AS_BEFORE, Experiment, Explanation, Inference
from capexplorer.model.figures import LevelEndpoint, LevelFigures
from capexplorer.model.findings import Bottleneck
from capexplorer.model.intervals import Latency
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict

LOW_MS = {"/a": 20.0, "/b": 10.0}
"""Mean responses at low load."""
PAUSE_S = 0.3
USERS = 60
IDLE = {"target.cpu_ratio": 0.05, "target.cpus_allowed": 4.0, "host.cpu_ratio": 0.2, "target.listen_queue": 0.0}

HALF = Experiment(name="half_pauses")
ALONE, WITHOUT = (Experiment(name=name, endpoint="GET /a") for name in ("alone", "without"))
RECONNECT = Experiment(name="reconnect")


def made(low_ms: dict[str, float] = LOW_MS) -> Scenario:
    """A session whose knee is at 40 users, with a level at low load."""
    scenario = Scenario().ready()
    endpoints = tuple(
        LevelEndpoint(name=name, method="GET", requests=400, failures=0, latency_ms=Latency(mean=mean, p95=1.2 * mean))
        for name, mean in low_ms.items()
    )
    scenario.measured(users=2, figures=LevelFigures(settled=True, settled_seconds=60, think_s=PAUSE_S), endpoints=endpoints)
    knee = KneeVerdict(kind="knee", users=40.0, users_low=38.0, users_high=42.0, capacity_rps=60.0, limit="queueing")
    return scenario.add(Verdict(t_s=scenario.t_s, capacity=CapacityVerdict(knee=knee)))


def tried(
    scenario: Scenario,
    experiment: Experiment,
    rps: float,
    *,
    waits_ms: float = 200.0,
    error: float = 0.01,
    share: float = 0.5,
    pause_s: float = PAUSE_S,
    **figures: Any,
) -> Scenario:
    """A level of an experiment. `share`: of the requests that go to /a, where both are requested."""
    shares = {"alone": {"/a": 1.0}, "without": {"/b": 1.0}}.get(experiment.name, {"/a": share, "/b": 1 - share})
    endpoints = tuple(
        LevelEndpoint(
            name=name, method="GET", requests=round(600 * part), failures=0, latency_ms=Latency(mean=LOW_MS[name] + waits_ms)
        )
        for name, part in shares.items()
    )
    known = LevelFigures(
        settled=True, settled_seconds=12, goodput_rps=rps, goodput_se_rps=error * rps, throughput_rps=rps, response_ms=waits_ms,
        think_s=pause_s, generator_cpu_ratio=0.1, readings=IDLE,
    )  # fmt: skip
    return scenario.measured(USERS, _with(known, figures), lasts_s=15.0, endpoints=endpoints, experiment=experiment)


def _with(figures: LevelFigures, changes: dict[str, Any]) -> LevelFigures:
    return LevelFigures(**{name: changes.get(name, getattr(figures, name)) for name in figures.__struct_fields__})


def explained(scenario: Scenario) -> Explanation:
    found = explain(scenario.timeline, 0)
    assert found is not None
    return found


def reasons(found: Explanation) -> set[str]:
    return {each.reason for each in found.inferences}


def test_without_a_level_as_before_nothing_is_explained() -> None:
    assert explain(tried(made(), HALF, 60.0).timeline, 0) is None


def test_readings_rule_out_resources() -> None:
    found = explained(tried(made({"/a": 80.0, "/b": 40.0}), AS_BEFORE, 60.0))
    assert found.left == ("lock", "pool", "rate_limit")
    assert found.confirmed is None


def test_a_service_that_takes_one_request_at_a_time_and_counts_work_has_a_lock() -> None:
    scenario = tried(made(), AS_BEFORE, 68.0)
    tried(scenario, ALONE, 52.0)
    found = explained(tried(scenario, WITHOUT, 104.0))
    assert found.confirmed == "lock"
    assert reasons(found) >= {"counts_work", "one_at_a_time"}


@pytest.mark.parametrize(("alone", "without"), [(52.0, 70.0), (40.0, 104.0), (52.0, 150.0)])
def test_work_after_the_reply_is_not_one_request_at_a_time(alone: float, without: float) -> None:
    """One kind is served less or more than once at a time: its response does not show for how long it holds the limit."""
    scenario = tried(made(), AS_BEFORE, 48.0)
    tried(scenario, ALONE, alone)
    found = explained(tried(scenario, WITHOUT, without))
    assert "one_at_a_time" not in reasons(found)
    assert found.confirmed is None


def test_one_request_at_a_time_alone_may_be_a_rate_limit() -> None:
    scenario = tried(made({"/a": 18.0, "/b": 18.0}), AS_BEFORE, 60.0)
    tried(scenario, ALONE, 60.0)
    found = explained(tried(scenario, WITHOUT, 60.0))
    assert found.left == ("lock", "rate_limit")
    assert found.confirmed is None


def test_requests_that_need_no_time_and_a_rate_that_holds_against_half_the_pauses_are_a_rate_limit() -> None:
    scenario = tried(made({"/a": 4.0, "/b": 2.0}), AS_BEFORE, 60.0)
    tried(scenario, HALF, 60.5, pause_s=PAUSE_S / 2)
    assert explained(tried(scenario, ALONE, 60.2)).left == ("lock", "pool", "rate_limit"), "other kinds may be served otherwise"
    assert explained(tried(scenario, WITHOUT, 59.8)).confirmed == "rate_limit"


def test_requests_that_are_answered_before_the_work_are_no_rate_limit() -> None:
    """They hold a lock after the reply: responses are short, but each kind has a goodput of its own."""
    scenario = tried(made({"/a": 4.0, "/b": 2.0}), AS_BEFORE, 60.0)
    tried(scenario, HALF, 60.0, pause_s=PAUSE_S / 2)
    tried(scenario, ALONE, 48.0)
    found = explained(tried(scenario, WITHOUT, 80.0))
    assert "faster_than_its_rate" not in reasons(found)
    assert found.confirmed is None


def test_more_of_one_endpoint_does_not_rule_out_a_limit_of_the_other_endpoint_alone() -> None:
    """Requests to /b do not wait: a rate limit of /a explains that more of them are served."""
    scenario = tried(made(), AS_BEFORE, 60.0)
    before = scenario.timeline.levels[-1].closed
    assert before is not None
    unlike = (LevelEndpoint(name="/a", method="GET", requests=300, failures=0, latency_ms=Latency(mean=400.0)),
              LevelEndpoint(name="/b", method="GET", requests=300, failures=0, latency_ms=Latency(mean=11.0)))  # fmt: skip
    again = made()
    again.measured(USERS, before.figures, lasts_s=15.0, endpoints=unlike, experiment=AS_BEFORE)
    found = explained(tried(again, WITHOUT, 90.0))
    assert "rate_limit" in found.left
    assert "served_more" in reasons(found)


def test_more_goodput_with_new_connections_shows_that_open_ones_hold_the_workers() -> None:
    scenario = tried(made(), AS_BEFORE, 60.0, readings={})
    assert explained(tried(scenario, RECONNECT, 90.0, readings={})).confirmed == "queue"


def test_as_much_goodput_with_new_connections_shows_that_they_do_not() -> None:
    scenario = tried(made(), AS_BEFORE, 60.0, readings={})
    assert "queue" not in explained(tried(scenario, RECONNECT, 60.0, readings={})).left


def test_a_level_of_few_users_shows_how_long_requests_take_once_the_service_is_warm() -> None:
    """At the first levels they took three times as long: then it is not known that one is served at a time."""
    scenario = tried(made({"/a": 60.0, "/b": 30.0}), AS_BEFORE, 68.0)
    tried(scenario, ALONE, 52.0)
    tried(scenario, WITHOUT, 104.0)
    assert explained(scenario).left == ("lock", "pool")
    endpoints = tuple(
        LevelEndpoint(name=name, method="GET", requests=200, failures=0, latency_ms=Latency(mean=mean, p95=1.2 * mean))
        for name, mean in LOW_MS.items()
    )
    figures = LevelFigures(settled=True, settled_seconds=12, think_s=PAUSE_S)
    scenario.measured(5, figures, lasts_s=15.0, endpoints=endpoints, experiment=Experiment(name="few_users"))
    assert explained(scenario).confirmed == "lock"
    assert [each.experiment.name for each in explained(scenario).outcomes] == ["alone", "without"]


def slots(after: int, param: str = "pool") -> Experiment:
    return Experiment(name="slots", param=param, before=4, after=after)


def test_a_bottleneck_that_may_have_several_causes_has_those_that_experiments_leave() -> None:
    known = Explanation(
        users=30, causes=("lock", "pool", "cpu"), left=("lock", "cpu"),
        inferences=(Inference(reason="slots_do_not_matter", levels=(9,), param="threads"),),
    )  # fmt: skip
    scenario = Scenario().level(users=20)
    marks = [
        Mark(t_s=9.0, key=each, state="open", finding=Bottleneck(name=each), users=20.0)
        for each in ("lock_or_pool_limit", "gil_bound")
    ]
    scenario.add(*marks, Explained(t_s=9.0, explanation=known))
    limit, other = (mark.finding for mark in EpochView(scenario.timeline, 0).marks)
    assert isinstance(limit, Bottleneck)
    assert (limit.left, limit.without_effect) == (("lock",), ("threads",)), "its readings have ruled out the CPU"
    assert other == Bottleneck(name="gil_bound")
    scenario.add(Explained(t_s=9.0, explanation=replace(known, unsteady=True)))
    assert EpochView(scenario.timeline, 0).marks[0].finding == Bottleneck(name="lock_or_pool_limit")


@pytest.mark.parametrize(("after", "rps"), [(6, 88.0), (2, 32.0)])
def test_goodput_that_follows_the_slots_confirms_their_pool(after: int, rps: float) -> None:
    scenario = tried(made({"/a": 80.0, "/b": 40.0}), AS_BEFORE, 60.0)
    found = explained(tried(scenario, slots(after), rps))
    assert (found.confirmed, found.left) == ("pool", ("pool",))


def test_the_same_goodput_with_more_slots_rules_out_no_other_pool() -> None:
    scenario = tried(made({"/a": 80.0, "/b": 40.0}), AS_BEFORE, 60.0)
    found = explained(tried(scenario, slots(6), 60.0))
    assert found.left == ("lock", "pool", "rate_limit")
    assert "slots_do_not_matter" in reasons(found)


def test_more_processes_may_be_as_many_locks() -> None:
    scenario = tried(made({"/a": 80.0, "/b": 40.0}), AS_BEFORE, 60.0, readings=IDLE | {"target.processes": 4.0})
    tried(scenario, slots(6, "workers"), 88.0, readings=IDLE | {"target.processes": 6.0})
    assert explained(scenario).left == ("lock", "pool")
    assert explained(scenario).confirmed is None


def test_workers_of_one_process_are_slots() -> None:
    one = IDLE | {"target.processes": 1.0}
    scenario = tried(made({"/a": 80.0, "/b": 40.0}), AS_BEFORE, 60.0, readings=one)
    assert explained(tried(scenario, slots(6, "workers"), 88.0, readings=one)).confirmed == "pool"


def test_nothing_is_said_if_half_the_pauses_bring_more_or_the_service_has_changed() -> None:
    for experiment, rps in ((HALF, 90.0), (HALF, 40.0), (AS_BEFORE, 80.0)):
        scenario = tried(made({"/a": 4.0, "/b": 2.0}), AS_BEFORE, 60.0)
        found = explained(tried(scenario, experiment, rps))
        assert found.unsteady
        assert (found.left, found.confirmed) == (found.causes, None)


def test_goodput_that_does_not_follow_the_slots_shows_nothing_of_them() -> None:
    """A fifth more, by chance or as the service becomes warm, is not half more."""
    scenario = tried(made({"/a": 80.0, "/b": 40.0}), AS_BEFORE, 60.0)
    found = explained(tried(scenario, slots(6), 72.0))
    assert found.confirmed is None
    assert "slots_matter" not in reasons(found)


def test_levels_as_before_that_differ_make_other_differences_less_clear() -> None:
    scenario = tried(made(), AS_BEFORE, 60.0, readings={})
    tried(scenario, RECONNECT, 75.0, readings={})
    assert explained(scenario).confirmed == "queue"
    assert explained(tried(scenario, AS_BEFORE, 66.0, readings={})).confirmed is None


def test_an_unclear_difference_rules_out_nothing() -> None:
    scenario = tried(made(), AS_BEFORE, 60.0, error=0.08)
    found = explained(tried(scenario, WITHOUT, 72.0, error=0.08))
    assert [each.result for each in found.outcomes] == ["unclear"]
    assert "counts_work" not in reasons(found)


def test_few_requests_at_low_load_do_not_show_how_many_are_served_at_a_time() -> None:
    """The bound is that of the interval, not of the mean."""
    exact, few = made({"/a": 20.0, "/b": 20.0}), Scenario().ready()
    endpoint = LevelEndpoint(name="/a", method="GET", requests=25, failures=0, latency_ms=Latency(mean=20.0, p95=60.0))
    few.measured(users=2, figures=LevelFigures(settled=True, settled_seconds=60, think_s=PAUSE_S), endpoints=(endpoint,))
    few.add(Verdict(t_s=few.t_s, capacity=exact.timeline.verdicts[0].capacity))
    for scenario, known in ((exact, True), (few, False)):
        found = explained(tried(scenario, AS_BEFORE, 60.0, share=1.0))
        assert ("one_at_a_time" in reasons(found)) is known

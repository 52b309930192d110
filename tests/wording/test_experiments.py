"""Sentences about experiments: what they change and would show, and what the limit is by them."""

from __future__ import annotations

import pytest

from capexplorer.model.experiments import AS_BEFORE, Experiment, Explanation, Inference, LimitCause, Outcome
from capexplorer.model.proposals import Try
from capexplorer.wording.experiments import explanation, outcome, proposed

ALONE = Experiment(name="alone", endpoint="GET /a")
CAUSES: tuple[LimitCause, ...] = ("lock", "pool", "rate_limit")


@pytest.mark.parametrize(
    ("experiment", "words"),
    [
        (AS_BEFORE, "39 users for 9–20 s; experiments on the cause compare with it"),
        (Experiment(name="half_pauses"), "39 users, half the pauses, for 9–20 s; does the limit hold?"),
        (ALONE, "39 users, only GET /a, for 9–20 s; how much of it is served?"),
        (Experiment(name="without", endpoint="GET /a"), "39 users, without GET /a, for 9–20 s; how much of the rest?"),
        (Experiment(name="path", endpoint="GET /health"), "39 users, only GET /health, for 9–20 s; does it wait as well?"),
        (Experiment(name="few_users"), "39 users for 9–20 s; how long do requests take that do not wait?"),
        (Experiment(name="reconnect"), "39 users, new connections, for 9–20 s; do open ones block it?"),
        (Experiment(name="slots", param="pool", before=4, after=6), "39 users, pool=6, for 9–20 s; is it the limit?"),
        (
            Experiment(name="alone", endpoint="GET /shops/{shop}/orders"),
            "39 users, only GET /shop…, for 9–20 s; how much of it is served?",
        ),
    ],
)
def test_a_proposal_says_the_change_what_it_takes_and_what_it_would_show(experiment: Experiment, words: str) -> None:
    assert proposed(Try(39, experiment, 9.0, 20.0)) == words
    assert len(words) <= 64


def test_an_outcome_has_its_goodput_beside_that_of_the_level_as_before() -> None:
    found = Outcome(experiment=ALONE, level=9, result="less", goodput_rps=48.3, ratio=0.672, ratio_low=0.614, ratio_high=0.73)
    assert outcome(found) == "only GET /a: 48.3/s, 67% [61–73%] of as before"


WORK = Inference(reason="counts_work", levels=(1, 2), excludes=("rate_limit",), endpoint="GET /a", value=1.46)
NO_EFFECT = Inference(reason="slots_do_not_matter", levels=(1,), param="threads", value=1.01)
ONE = Inference(reason="one_at_a_time", levels=(1,), excludes=("pool",), supports="lock", endpoint="GET /a", value=1.11)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            Explanation(users=39, causes=CAUSES, inferences=(WORK, ONE), left=("lock",), confirmed="lock"),
            "experiments at 39 users confirm a lock: at most 1.1 GET /a are served at a time",
        ),
        (
            Explanation(users=39, causes=CAUSES, inferences=(WORK,), left=("lock", "pool")),
            "experiments at 39 users leave a lock or a pool; ruled out: a rate limiter (all requests wait, yet 46% more of some"
            " are served than of all)",
        ),
        (
            Explanation(users=39, causes=CAUSES, inferences=(NO_EFFECT,), left=CAUSES),
            "experiments at 39 users leave a lock, a pool or a rate limiter; without effect: threads",
        ),
        (Explanation(users=39, causes=CAUSES, left=CAUSES), "experiments at 39 users leave a lock, a pool or a rate limiter"),
        (
            Explanation(users=39, causes=CAUSES, left=CAUSES, unsteady=True),
            "experiments at 39 users tell nothing: goodput changed between them, or was not at its limit",
        ),
    ],
)
def test_what_experiments_leave_and_rule_out(found: Explanation, words: str) -> None:
    assert explanation(found) == words

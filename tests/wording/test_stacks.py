"""Sentences about sampled stacks, in the verdict and alone."""

from __future__ import annotations

from typing import get_args

import pytest
from kit.stacks import Sampled, session, stacks
from msgspec.structs import replace

from capexplorer import wording
from capexplorer.analysis.sampling_cost import SamplingCost
from capexplorer.analysis.stacks import StacksDifference, Unnamed, difference
from capexplorer.model.events import StacksSampled
from capexplorer.model.load import Users
from capexplorer.model.stacks import Frame, FunctionBlamed, FunctionTime, RequestTime
from capexplorer.wording.stacks import blamed, file_and_line, loads, said, sampled, sampling_cost, tools

from .judged_sessions import knee_verdict

CHECKOUT = FunctionTime(
    Frame("checkout", "/srv/shop/db.py", 41, True),
    "acquire",
    RequestTime(0.0025, 0.0145, 0.0004),
    RequestTime(0.003, 0.02, 0.001),
    (0.1, 1.45),
    is_more=True,
    is_less=False,
    grew=True,
)
PLACE = "checkout (db.py:41, in acquire)"
GREW = FunctionBlamed("grew", "wall", CHECKOUT, 0.94, is_wait=True)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (GREW, f"per request 12 ms more wait in {PLACE}, 94% of the growth in its own code"),
        (replace(GREW, is_wait=None), f"per request 12 ms more time in {PLACE}, 94% of the growth in its own code"),
        (
            replace(GREW, how="busy", share_ratio=1.0),
            f"requests wait for a free thread: 1.45 at a time are in {PLACE}, 100% of those in its own code",
        ),
        (
            replace(GREW, how="cpu", clock="cpu", function=replace(CHECKOUT, calls="")),
            "94% of its CPU time is in checkout (db.py:41), 14.5 ms of each request",
        ),
        (
            replace(GREW, endpoints=2),
            f"per request (mean of 2 endpoints) 12 ms more wait in {PLACE}, 94% of the growth in its own code",
        ),
    ],
)  # fmt: skip
def test_a_function_is_named_with_its_place_and_what_is_known_of_it(found: FunctionBlamed, sentence: str) -> None:
    assert blamed(found) == sentence


def test_a_place_has_what_is_known_of_it() -> None:
    assert [file_and_line(Frame("f", file, line)) for file, line in (("C:\\app\\db.py", 4), ("db.py", 0), ("", 9))] == [
        "db.py:4",
        "db.py",
        "",
    ]


def test_the_verdict_names_the_function_after_the_limit() -> None:
    low = Sampled(2, 40, 25.0, (stacks({"buy* shop.py:41": 0.1, "buy* shop.py:42": 0.9}),))
    high = Sampled(16, 50, 310.0, (stacks({"buy* shop.py:41": 14.6, "buy* shop.py:42": 1.0}),))
    made = session(low, high)
    before = wording.verdict(made.timeline)
    assert "buy" not in before, "without a limit of the service no function is its reason"
    made.add(replace(knee_verdict("knee", 12), t_s=made.t_s))
    assert wording.verdict(made.timeline).endswith(
        "; per request 287 ms more time in buy (shop.py:41), 100% of the growth in its own code."
    )
    found = difference(made.timeline)
    assert found is not None
    assert said(found) == "Per request 287 ms more time in buy (shop.py:41), 100% of the growth in its own code."
    assert (loads(found), tools(found)) == (
        "at 2 users (40/s, 25 ms) and at 16 users (50/s, 310 ms)",
        "sampled by py-spy 0.4.1 for 10 s",
    )


def test_without_a_function_the_reason_is_said() -> None:
    reasons: tuple[Unnamed, ...] = get_args(Unnamed)
    sentences = {said(StacksDifference(0, None, None, unnamed=why)) for why in reasons}
    assert all(each.startswith("No function can be named: ") for each in sentences)
    assert len(sentences) == len(reasons)


def test_what_a_sampling_cost_is_the_change_from_the_same_load_without_it() -> None:
    cost = SamplingCost(
        level=3, load=Users(60), per_s=98.0, beside_per_s=100.0, change_se_ratio=0.015, p99_ms=707.0, beside_p99_ms=700.0
    )
    assert sampling_cost(cost) == "while stacks were sampled 98/s (-2.0% ± 2.9%), p99 707 ms (without 700 ms)"
    assert sampling_cost(replace(cost, p99_ms=None)) == "while stacks were sampled 98/s (-2.0% ± 2.9%)"


def test_a_sampling_names_its_tools_once() -> None:
    both = (stacks({"run": 1.0}), stacks({"run": 1.0}, clock="cpu"))
    assert sampled(StacksSampled(t_s=1.0, level=0, sampled=both)) == "stacks sampled by py-spy 0.4.1 for 10 s"
    assert sampled(StacksSampled(t_s=1.0, level=0, failed=("py-spy is not installed",))) == "no stacks were sampled"

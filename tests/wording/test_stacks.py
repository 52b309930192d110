"""Sentences about sampled stacks, in the verdict and alone."""

from __future__ import annotations

from typing import get_args

import pytest
from kit.stacks import Sampled, session, stacks
from msgspec.structs import replace

from capexplorer import wording
from capexplorer.analysis.stacks import StacksDifference, Unnamed, difference
from capexplorer.model.stacks import Frame, FunctionBlamed, FunctionTime, RequestTime
from capexplorer.wording.stacks import blamed, file_and_line, loads, said, tools

from .judged_sessions import knee_verdict

CHECKOUT = FunctionTime(
    Frame("checkout", "/srv/shop/db.py", 41, True),
    "acquire",
    RequestTime(0.0025, 0.0145, 0.0004),
    RequestTime(0.003, 0.02, 0.001),
    (0.1, 1.45),
    True,
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

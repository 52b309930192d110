"""Plans that can begin a run, and those that need load or a verdict which nothing before them gives."""

from __future__ import annotations

import pytest

from capexplorer.errors import InputError
from capexplorer.steer.plan import check_start, parse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("60% capacity:20s", "expected levels of rates before the step that needs the capacity"),
        ("10:5s, find knee, 60% capacity:20s", "expected levels of rates before the step that needs the capacity"),
        ("60% knee:20s", "expected `find knee` or levels of users before the step that needs the knee"),
        ("rates 10..50 by 10 5s, 60% knee:20s", "expected `find knee` or levels of users before the step that needs the knee"),
        ("verify", "expected `find knee` or levels of users before the step that needs the knee"),
        ("rate 0/s 10s", "expected users or a rate above 0 in some step"),
        ("ramp to 0/s 10s, 0:5s", "expected users or a rate above 0 in some step"),
    ],
)
def test_a_plan_that_cannot_begin_a_run_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_start(parse(text, "--plan", 2000), "--plan")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "find knee, 60% knee:1h, verify",
        "steps 5..50 by 5 10s, verify",
        "rates 50..400 by 50 20s, 60% capacity:1m",
        "rate 50/s 10s, ramp to 0/s 10s",
        "0:5s, ramp to 50 1m",
    ],
)
def test_a_plan_that_can_begin_a_run_is_accepted(text: str) -> None:
    check_start(parse(text, "--plan", 2000), "--plan")

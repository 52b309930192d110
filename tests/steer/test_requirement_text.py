"""Requirements as text."""

from __future__ import annotations

import pytest

from capexplorer.errors import InputError
from capexplorer.model.load import Rate, Users
from capexplorer.model.requirements import CapacityRequired, FailuresRequired, KneeRequired, PercentileRequired, Requirement
from capexplorer.steer.requirement_text import parse
from capexplorer.wording.requirements import text_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("capacity >= 100/s", CapacityRequired(100.0)),
        ("knee >= 40", KneeRequired(40.0)),
        ("knee>=40.5 users", KneeRequired(40.5)),
        ("p95 <= 300ms @ 50 users", PercentileRequired(95.0, 300.0, Users(50))),
        ("p95<=300ms@50", PercentileRequired(95.0, 300.0, Users(50))),
        ("P99.9 <= 1.5 s @ 80/s", PercentileRequired(99.9, 1500.0, Rate(80.0))),
        ("ttft p95 <= 500ms @ 20 users", PercentileRequired(95.0, 500.0, Users(20), "ttft")),
        ("TPOT p99 <= 40ms @ 3/s", PercentileRequired(99.0, 40.0, Rate(3.0), "tpot")),
        ("failures <= 0.1% @ 1 user", FailuresRequired(0.001, Users(1))),
        ("failures <= 2% @ 0.5/s", FailuresRequired(0.02, Rate(0.5))),
    ],
)
def test_a_text_is_one_requirement_and_can_be_written_again(text: str, expected: Requirement) -> None:
    assert parse(text, "--require") == expected
    assert parse(text_of(expected), "--require") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p95 <= 300ms", "expected one like"),
        ("capacity >= 0/s", "expected a bound above 0"),
        ("p95 <= 0ms @ 5", "expected a bound above 0"),
        ("p20 <= 3ms @ 5", "expected a percentile from p50 to p99.9"),
        ("p99.99 <= 3ms @ 5", "expected a percentile from p50 to p99.9"),
        ("failures <= 100% @ 5", "expected a percentage above 0 and below 100"),
        ("failures <= 0% @ 5", "expected a percentage above 0 and below 100"),
        ("p95 <= 3ms @ 2.5 users", "expected a whole number of users"),
        ("p95 <= 3ms @ 0 users", "expected a whole number of users"),
        ("p95 <= 3ms @ 1000000/s", "expected a rate of 0.01 to 100,000 a second"),
        ("failures <= 1% @ 101", "101 users exceed guards.max_users (100)"),
        ("latency <= 3ms @ 2", "expected one like"),
    ],
)
def test_a_mistake_says_where_it_is_and_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        parse(text, "--require", 100)
    assert str(raised.value).startswith("--require: ") and expected in str(raised.value) and "\n" not in str(raised.value)

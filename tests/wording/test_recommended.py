"""Sentences about the load to operate at, and about settings."""

from __future__ import annotations

import pytest

from capexplorer.model.load import Rate, Users
from capexplorer.model.recommended import Estimate, OperatingLoad, Recommended
from capexplorer.model.verdicts import RateObjective, SloVerdict
from capexplorer.wording.recommended import operating_in_full, settings_of

MEASURED = OperatingLoad(
    load=Users(18),
    measured=True,
    verified=True,
    goodput_per_s=Estimate(value=53.0, low=51.2, high=54.8),
    p95_ms=Estimate(value=67.3, low=61.0, high=74.2),
    failure_ratio=0.0,
)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            MEASURED,
            "Stay at 18 users or fewer, 53/s: p95 67.3 ms [61–74.2 ms]. A measured load, at most 80% of the knee's lower end.",
        ),
        (
            OperatingLoad(
                load=Users(18),
                objective=SloVerdict(name="p95_ms", limit=300.0, state="crossed", users=20.0),
                goodput_per_s=Estimate(value=53.0),
                p95_ms=Estimate(value=180.0, low=67.0, high=212.0),
                failure_ratio=0.004,
                generator_limited=True,
            ),
            "Stay at 18 users or fewer, 53/s: p95 between 67 and 212 ms, not measured there. Up to there p95 ≤ 300 ms is met; "
            "0.4% of requests fail there; the knee is not verified; the generator is the limit, so the service may carry more.",
        ),
        (OperatingLoad(load=Users(1), verified=True), "Stay at 1 user. 80% of the knee's lower end."),
        (
            OperatingLoad(load=Rate(38.0), measured=True, p95_ms=Estimate(value=30.0, low=28.0)),
            "Stay at 38/s or less: p95 from plan 30 ms (at least 28 ms). "
            "A measured load, at most 80% of the capacity's lower end.",
        ),
        (
            OperatingLoad(load=Users(18), verified=True, p95_ms=Estimate(value=80.0)),
            "Stay at 18 users or fewer: p95 about 80 ms, not measured there. 80% of the knee's lower end.",
        ),
        (
            OperatingLoad(
                load=Rate(25.0), objective=RateObjective(name="failure_ratio", limit=0.01, state="crossed"), p95_ms=None
            ),
            "Stay at 25/s or less. Up to there failures ≤ 1% is met.",
        ),
    ],
    ids=["measured", "between levels", "nothing known", "rate", "without an interval", "rate by an objective"],
)  # fmt: skip
def test_the_operating_load_in_full(found: OperatingLoad, sentence: str) -> None:
    assert operating_in_full(found) == sentence


def test_settings_have_their_figure_with_its_interval_and_a_reason() -> None:
    found = Recommended(
        epoch=0,
        operating=MEASURED,
        rate_limit_per_s=MEASURED.goodput_per_s,
        in_flight=Estimate(value=14.2, low=11.0, high=17.3),
        busy=Estimate(value=2.01, low=1.9, high=2.12),
        parameter="pool",
        workers=Estimate(value=13.0, low=11.6, high=14.4),
        replicas=10,
        wanted_per_s=500.0,
        cpu_target_ratio=Estimate(value=0.74, low=0.71, high=0.77),
        cpu_cores=1.93,
        timeout_ms=Estimate(value=212.0, low=190.0, high=240.0),
        timeout_quantile=0.999,
        next_limit_per_s=Estimate(value=620.0, low=580.0, high=660.0),
    )
    assert list(settings_of(found)) == [
        ("rate limit", "53/s [51.2–54.8/s]", "what it completes at 18 users"),
        ("requests in flight, at most", "18", "14 [11–17] at the knee, by Little's law: more would only wait"),
        (
            "requests worked on at once",
            "2.01 [1.9–2.12]",
            "by Little's law, at the response time of the lowest load: so many workers or connections are needed; "
            "the parameter pool has this value, and may be the limit",
        ),
        ("workers, at most", "13 [11.6–14.4]", "the CPU is full with so many workers"),
        ("replicas for 500/s", "10", "each at 18 users, if nothing that they share is the limit"),
        ("CPU target of an autoscaler", "74% [71–77%]", "at 18 users, of a request of 1.93 cores"),
        ("timeout, at least", "240 ms", "99.9% of the replies at 18 users take up to 212 ms [190–240 ms]"),
        (
            "next limit",
            "CPU at 620/s [580–660/s]",
            "the service would use all of its cores, if the present limit were removed",
        ),
    ]


def test_what_cannot_be_derived_has_no_setting() -> None:
    assert list(settings_of(Recommended(epoch=0, operating=MEASURED))) == []


def test_an_interval_that_is_narrower_than_its_digits_is_left_out() -> None:
    narrow = Recommended(epoch=0, operating=MEASURED, rate_limit_per_s=Estimate(value=24.0, low=23.999, high=24.001))
    assert [each.value for each in settings_of(narrow)] == ["24/s"]

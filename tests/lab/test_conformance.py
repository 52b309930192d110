"""The judge of the trial that compares locustfiles in Locust and in capexplorer."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.trials.conformance.trial import Conformance, Example, Found, judged

CASE = Example(name="a")
USERS = [3, *[6] * 7]
PEER = Found({("GET", "/a"): 200, ("GET", "/b"): 10}, {("GET", "/b"): 5}, USERS, 1)


def wrong(own: Found, case: Example = CASE) -> tuple[str, ...]:
    return judged(case, PEER, own).wrong


def changed(**fields: object) -> Found:
    return Found(**{name: fields.get(name, getattr(PEER, name)) for name in Found.__dataclass_fields__})  # type: ignore[arg-type]


def test_runs_that_differ_by_chance_alone_are_right() -> None:
    assert wrong(changed(requests={("GET", "/a"): 225, ("GET", "/b"): 16}, users=[6] * 8, exit_code=0)) == ()


@pytest.mark.parametrize(
    ("own", "kind"),
    [
        (changed(requests={("GET", "/a"): 200}), "names"),
        (changed(requests={("GET", "/a"): 320, ("GET", "/b"): 10}), "requests"),
        (changed(failures={("GET", "/b"): 5, ("GET", "/a"): 40}), "failures"),
        (changed(users=[5] * 8), "users"),
        (changed(metrics=frozenset({"GET /a"})), "metrics"),
    ],
)
def test_what_differs_is_named(own: Found, kind: str) -> None:
    assert kind in wrong(own)


def test_counts_are_those_of_equal_seconds_and_a_run_that_ends_itself_lasts_as_long() -> None:
    twice = changed(requests={("GET", "/a"): 400, ("GET", "/b"): 20}, failures={("GET", "/b"): 10}, users=[*USERS, *USERS])
    assert wrong(twice) == ()
    assert wrong(twice, replace(CASE, shape=True)) == ("seconds",)


def test_the_exit_code_counts_if_the_locustfile_sets_it() -> None:
    assert wrong(PEER, replace(CASE, exit_code=3)) == ("exit code",)
    assert wrong(PEER, replace(CASE, exit_code=1)) == ()


def test_examples_have_a_file_that_is_there() -> None:
    for case in Conformance.cases.values():
        assert case.file or case.files
        assert case.file or case.given != "locustfile.py"

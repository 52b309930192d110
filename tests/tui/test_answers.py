"""Typed answers are accepted, or refused with one sentence."""

from __future__ import annotations

import pytest

from capexplorer.tui.actions.steering import load_of, offered_rate_error, spawn_rate_error, users_error


@pytest.mark.parametrize("answer", ["", "10", "0.5", "0.001", "100000"])
def test_a_spawn_rate_within_the_bounds_of_profiles_is_accepted(answer: str) -> None:
    assert spawn_rate_error(answer) is None


@pytest.mark.parametrize("answer", ["0", "-1", "0.0001", "100001", "inf", "nan", "fast"])
def test_any_other_spawn_rate_is_refused_with_the_bounds(answer: str) -> None:
    expected = "expected users a second, 0.001 to 100,000 (for example 10 or 0.5), or nothing for automatic"
    assert spawn_rate_error(answer) == expected


@pytest.mark.parametrize(("answer", "per_s"), [("60", 60.0), ("60/s", 60.0), ("0.5 /s", 0.5), ("0", 0.0)])
def test_a_rate_is_accepted_with_and_without_its_unit(answer: str, per_s: float) -> None:
    assert offered_rate_error(answer) is None
    assert load_of(answer) == per_s


@pytest.mark.parametrize("answer", ["", "/s", "60/m", "fast/s", "-1/s", "nan/s"])
def test_any_other_rate_is_refused(answer: str) -> None:
    assert str(offered_rate_error(answer)).startswith("expected iterations a second, ")


def test_a_rate_where_users_are_asked_for_is_refused_with_the_key_for_rates() -> None:
    assert users_error("60/s", 100) == "expected users, not a rate; Esc, then u changes the unit to an offered rate"

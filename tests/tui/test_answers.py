"""Typed answers are accepted, or refused with one sentence."""

from __future__ import annotations

import pytest

from capexplorer.tui.actions.answers import spawn_rate_error


@pytest.mark.parametrize("answer", ["", "10", "0.5", "0.001", "100000"])
def test_a_spawn_rate_within_the_bounds_of_profiles_is_accepted(answer: str) -> None:
    assert spawn_rate_error(answer) is None


@pytest.mark.parametrize("answer", ["0", "-1", "0.0001", "100001", "inf", "nan", "fast"])
def test_any_other_spawn_rate_is_refused_with_the_bounds(answer: str) -> None:
    expected = "expected users a second, 0.001 to 100,000 (for example 10 or 0.5), or nothing for automatic"
    assert spawn_rate_error(answer) == expected

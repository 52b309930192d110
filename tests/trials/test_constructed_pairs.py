"""What `compare` says of simulated explorations whose difference is known by construction."""

from __future__ import annotations

import pytest

from trials.aa.constructed import WORDS, constructed

SEED = 200_003


@pytest.mark.parametrize(("name", "said"), [("doubled", "better"), ("halved", "worse"), ("equal", "equal")])
def test_a_doubled_or_halved_capacity_is_said_first_and_equal_services_do_not_differ(name: str, said: str) -> None:
    found = constructed(name, "queue", SEED)
    assert found["said"] == said
    assert len(found["first_words"].split()) == WORDS
    assert "capacity" in found["first_words"]

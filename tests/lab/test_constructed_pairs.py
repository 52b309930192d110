"""What `compare` says of simulated explorations whose difference is known by construction."""

from __future__ import annotations

import pytest

from lab.trials.aa.constructed import WORDS, constructed

SEED = 200_003


@pytest.mark.parametrize(("name", "said"), [("doubled", "better"), ("halved", "worse"), ("equal", "equal")])
def test_a_headline_begins_with_the_capacities_of_the_two_services(name: str, said: str) -> None:
    found = constructed(name, "queue", SEED)
    assert found["said"] == said
    assert len(found["first_words"].split()) == WORDS
    assert "capacity" in found["first_words"]

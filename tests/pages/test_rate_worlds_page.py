"""docs/rate-worlds.md is generated from its data file by lab/bench/rate_worlds_page.py."""

from __future__ import annotations

import json

from lab.bench import rate_worlds_page


def test_the_rate_worlds_page_is_what_its_generator_makes_of_the_data() -> None:
    data = json.loads(rate_worlds_page.DATA.read_text())
    assert rate_worlds_page.PAGE.read_text(encoding="utf-8") == rate_worlds_page.page(data)

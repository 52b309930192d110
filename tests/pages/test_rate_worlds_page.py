"""docs/rate-worlds.md is made from its data."""

from __future__ import annotations

import json

from benchmarks import rate_worlds_page


def test_the_page_is_what_its_data_says() -> None:
    found = json.loads(rate_worlds_page.DATA.read_text())
    assert rate_worlds_page.PAGE.read_text(encoding="utf-8") == rate_worlds_page.page(found)

"""docs/bench.md is made from the data beside it."""

from __future__ import annotations

import json

from benchmarks import clients_page


def test_the_page_is_made_from_its_data() -> None:
    assert clients_page.PAGE.read_text(encoding="utf-8") == clients_page.page(json.loads(clients_page.DATA.read_text()))

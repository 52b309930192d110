"""docs/bench.md is generated from its data file by lab/bench/clients_page.py."""

from __future__ import annotations

import json

from lab.bench import clients_page


def test_the_bench_page_is_what_its_generator_makes_of_the_data() -> None:
    assert clients_page.PAGE.read_text(encoding="utf-8") == clients_page.page(json.loads(clients_page.DATA.read_text()))

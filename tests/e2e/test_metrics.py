"""A live run with `--metrics` is scraped while it runs; the process that answers ends with it."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from capexplorer.model.events import Log, Sample
from lab.kit.servers import accepts, free_port

from .rig import events_of, started_run, wait_until

pytestmark = pytest.mark.slow


def scraped(port: int) -> dict[str, float]:
    """The sum of the series of each name; empty before anybody answers."""
    try:
        text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    except httpx.HTTPError:
        return {}
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def test_a_live_run_is_scraped_until_it_ends(tmp_path: Path) -> None:
    port = free_port()
    options = ("--headless", "--plan", "5:60s", "--metrics", f"127.0.0.1:{port}")
    with started_run(tmp_path, "mixed", "--set", "cpu_work=20000", *options) as run:

        def counted() -> dict[str, float]:
            assert run.process.poll() is None, run.stderr
            found = scraped(port)
            return found if found.get("capexplorer_request_duration_seconds_count", 0.0) > 20 else {}

        seen = wait_until(counted, "requests in the metrics")
        run.process.send_signal(signal.SIGINT)
        run.exit_code()
    events = run.events()
    assert seen["capexplorer_users"] == 5
    assert 20 < seen["capexplorer_requests_total"] <= sum(sample.all_requests for sample in events_of(events, Sample))
    assert [log.text for log in events_of(events, Log) if log.level == "error"] == []
    assert not accepts(port)

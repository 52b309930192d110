"""Servers' own figures: pages in, figures out; and a real server that refuses connections."""

from __future__ import annotations

import pytest

from capexplorer.model.watched import PartSpec
from capexplorer.parts.servers import servers_of
from capexplorer.parts.servers.nginx import figures
from capexplorer.parts.servers.rate import Rates

STUB_STATUS = """Active connections: 291
server accepts handled requests
 16630948 16630940 31070465
Reading: 6 Writing: 179 Waiting: 106
"""

EXPORTER = """# TYPE pg_locks gauge
pg_locks{mode="share"} 3
pg_locks{mode="exclusive"} 4
# TYPE http_requests_total counter
http_requests_total{code="200"} 10
http_requests_total{code="500"} 2
# TYPE other gauge
other NaN
"""


def test_nginx_counts_connections_that_it_closed_for_lack_of_room_as_rejected() -> None:
    values, counters = figures(STUB_STATUS)
    assert values == {"connections": 291.0, "reading": 6.0, "writing": 179.0, "waiting": 106.0}
    assert counters == {"rejected_connections": 8.0, "requests": 31070465.0}


def test_another_page_than_nginxs_is_refused() -> None:
    with pytest.raises(ValueError, match="not one of stub_status"):
        figures("<html>welcome</html>")


def test_chosen_metrics_of_an_exporter_are_summed_over_their_labels() -> None:
    pytest.importorskip("prometheus_client", reason="pip install 'capexplorer[prometheus]'")
    from capexplorer.parts.servers.prometheus import sums

    values, counters = sums(EXPORTER, ("pg_locks", "http_requests_total", "other"))
    assert (values, counters) == ({"pg_locks": 7.0}, {"http_requests_total": 12.0})


def test_a_counter_is_its_growth_a_second_and_a_new_start_is_no_growth() -> None:
    now = iter((10.0, 12.0, 13.0))
    rates = Rates(lambda: next(now))
    found = []
    for count in (100.0, 110.0, 3.0):
        rates.tick()
        found.append(rates.of("requests", count))
    assert found == [{}, {"requests_per_s": 5.0}, {}]


def test_a_part_has_the_servers_that_it_names() -> None:
    watch = PartSpec(name="db", postgres="postgresql://db/x", redis="redis://db")
    assert set(servers_of(watch)) == {"postgres", "redis"}
    assert not watch.has_reader, "no reader is sent to this machine for a server that is elsewhere"

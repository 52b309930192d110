"""The text for Prometheus, as its own library reads it, and as Prometheus itself does where it is installed."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from programs import require
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text
from prometheus_client.samples import Sample

from capexplorer.errors import InputError
from capexplorer.metrics.dashboard import dashboard
from capexplorer.metrics.following import FollowedSession
from capexplorer.metrics.prometheus import Exposition, served
from capexplorer.metrics.table import BOUNDS_S, METRICS, Latencies
from lab.kit.programs import find
from lab.kit.runs import wait_until
from lab.kit.servers import ended, free_port

from .whole import followed, many_names, whole

PLAIN, OPEN = "text/plain", "application/openmetrics-text; version=1.0.0"


@pytest.fixture
def session(tmp_path: Path) -> FollowedSession:
    return followed(whole(), tmp_path)


def text_of(session: FollowedSession) -> str:
    registry = CollectorRegistry()
    registry.register(Exposition(session.figures))
    return generate_latest(registry).decode()


def samples(text: str) -> Iterator[Sample]:
    return (sample for family in read_text(text) for sample in family.samples)


def test_the_library_reads_every_series_of_the_table_and_no_other(session: FollowedSession) -> None:
    assert {sample.name for sample in samples(text_of(session))} == {name for metric in METRICS for name in metric.series}


def test_values_and_labels_are_those_of_the_table(session: FollowedSession) -> None:
    read = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples(text_of(session))}
    for metric, values in session.figures():
        for labels, value in values.items():
            if not isinstance(value, Latencies):
                assert read[metric.full_name, frozenset(zip(metric.labels, labels, strict=True))] == value


def test_buckets_are_cumulative_and_end_at_the_count(session: FollowedSession) -> None:
    read = [sample for sample in samples(text_of(session)) if sample.name.startswith("capexplorer_request_duration")]
    buckets = {float(sample.labels["le"]): sample.value for sample in read if sample.name.endswith("_bucket")}
    counts = [buckets[bound] for bound in (*BOUNDS_S, float("inf"))]
    assert counts == sorted(counts)
    assert [sample.value for sample in read if sample.name.endswith("_count")] == [counts[-1]]


def test_a_series_has_a_unit_and_a_type_where_the_scraper_asks_for_openmetrics(session: FollowedSession) -> None:
    port = free_port()
    with served(session.figures, "127.0.0.1", port):
        replies = {kind: httpx.get(f"http://127.0.0.1:{port}/metrics", headers={"Accept": kind}) for kind in (PLAIN, OPEN)}
    assert {kind: reply.headers["Content-Type"].partition(";")[0] for kind, reply in replies.items()} == {
        PLAIN: PLAIN, OPEN: OPEN.partition(";")[0],
    }  # fmt: skip
    families = {family.name: (family.type, family.unit) for family in read_openmetrics(replies[OPEN].text)}  # type: ignore[no-untyped-call]
    assert families["capexplorer_request_duration_seconds"] == ("histogram", "seconds")
    assert families["capexplorer_requests"] == ("counter", "")
    assert families["capexplorer_target_memory_bytes"] == ("gauge", "bytes")


def test_names_of_a_service_may_have_any_character(tmp_path: Path) -> None:
    session = many_names(1)
    odd = 'a"b\\c\nd é'
    session.seconds(1, name=odd)
    assert odd in {sample.labels.get("endpoint") for sample in samples(text_of(followed(session, tmp_path)))}


def test_a_port_in_use_is_refused_in_one_line(session: FollowedSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"127.0.0.1:{port}: .*in use"), served(session.figures, "127.0.0.1", port):
            pass


def test_names_and_texts_are_as_prometheus_advises(session: FollowedSession) -> None:
    require("prometheus")
    done = subprocess.run([str(find("promtool")), "check", "metrics"], input=text_of(session), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_prometheus_itself_scrapes_every_series(session: FollowedSession, tmp_path: Path) -> None:
    require("prometheus")
    scraped, own = free_port(), free_port()
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: capexplorer, static_configs: [{{targets: ['127.0.0.1:{scraped}']}}]}}]\n"
    )
    argv = [
        str(find("prometheus")), f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{own}",
    ]  # fmt: skip
    wanted = {name for metric in METRICS for name in metric.series}

    def stored() -> set[str]:
        try:
            reply = httpx.get(f"http://127.0.0.1:{own}/api/v1/label/__name__/values")
            return set(reply.json()["data"]) if reply.is_success else set()
        except httpx.HTTPError:
            return set()

    def query(expression: str) -> list[tuple[dict[str, str], float]]:
        found = httpx.get(f"http://127.0.0.1:{own}/api/v1/query", params={"query": expression}).json()["data"]["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]

    with (
        served(session.figures, "127.0.0.1", scraped),
        ended(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)),
    ):
        wait_until(lambda: stored() >= wanted, "every series in Prometheus", 60.0)
        assert query("capexplorer_knee_users")[0][1] == 8.0
        assert query("sum(capexplorer_request_failures_total)")[0][1] == 36.0
        [(_, p99_s)] = query("histogram_quantile(0.99, sum by (le) (capexplorer_request_duration_seconds_bucket))")
        assert 0.015 < p99_s <= 0.02
        for panel in json.loads(dashboard())["panels"]:
            for target in panel["targets"]:
                query(target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*"))  # a mistake in it has no data

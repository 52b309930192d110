"""The export `locust-csv`: four files with the columns that Locust writes and the figures of the log."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from kit.servers import Reply, http_server

from capexplorer.model.events import EndpointTick, Sample
from capexplorer.report.formats import locust_csv

from .exported_sessions import HEADER, HOSTILE, session

LOCUSTFILE = """
from pathlib import Path
from locust import HttpUser, constant, task

class User(HttpUser):
    wait_time = constant(0.05)

    @task
    def request_both(self):
        self.client.get("/found")
        self.client.get("/missing")
        if "/missing" in Path("of_locust_failures.csv").read_text():
            self.environment.runner.quit()
"""


def csv_lines(content: bytes) -> list[dict[str, str]]:
    """The lines of a CSV file below its heading, by column."""
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def csv_files(text: str = "") -> dict[str, bytes]:
    """The files of an export by Locust's names, such as `stats`; `text`: the name of all endpoints."""
    rendered = locust_csv.render(session(text=text))
    return {name.removeprefix(f"{HEADER.id}_").removesuffix(".csv"): content for name, content in rendered.items()}


@pytest.fixture
def url() -> Iterator[str]:
    """A server for the run of Locust: 200 for /found and 404 for all else."""
    with http_server(lambda request: Reply(200 if request.path == "/found" else 404)) as server:
        yield server.url


@pytest.mark.slow
def test_the_columns_are_those_that_the_installed_locust_writes(url: str, tmp_path: Path) -> None:
    (tmp_path / "locustfile.py").write_text(LOCUSTFILE)
    command = [sys.executable, "-m", "locust", "--headless", "-u", "1", "-H", url, "--csv", "of_locust"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)  # exit code 1: there were failures
    for name, content in csv_files().items():
        expected = (tmp_path / f"of_locust_{name}.csv").read_text().splitlines()
        assert content.decode().splitlines()[0] == expected[0], name
    assert len((tmp_path / "of_locust_failures.csv").read_text().splitlines()) == 2  # a heading and the failures of /missing


def test_counts_include_the_requests_before_levels_settled() -> None:
    ticks = [tick for event in session() if isinstance(event, Sample) for tick in event.endpoints]
    aggregated = csv_lines(csv_files()["stats"])[-1]
    assert (aggregated["Type"], aggregated["Name"]) == ("", "Aggregated")
    assert int(aggregated["Request Count"]) == sum(tick.requests + tick.warmup_requests for tick in ticks)
    assert int(aggregated["Failure Count"]) == sum(tick.failures for tick in ticks) > 0
    assert float(aggregated["Requests/s"]) == pytest.approx(int(aggregated["Request Count"]) / 36)


def test_the_history_has_a_line_for_each_second_and_ends_with_the_totals() -> None:
    history, stats = csv_lines(csv_files()["stats_history"]), csv_lines(csv_files()["stats"])
    assert len(history) == 36
    assert {line["Name"] for line in history} == {"Aggregated"}
    assert history[-1]["Total Request Count"] == stats[-1]["Request Count"]
    assert history[-1]["99%"] == stats[-1]["99%"]
    assert int(history[1]["Timestamp"]) - int(history[0]["Timestamp"]) == 1
    assert history[0]["Timestamp"] == str(1_767_265_200 + 2)  # 2026-01-01T12:00:00+01:00, and 2 s


def test_the_rates_of_the_history_are_means_over_ten_seconds() -> None:
    counts = [
        sum(tick.requests + tick.warmup_requests for tick in event.endpoints) for event in session() if isinstance(event, Sample)
    ]
    assert float(csv_lines(csv_files()["stats_history"])[20]["Requests/s"]) == pytest.approx(sum(counts[11:21]) / 10)


def test_percentiles_before_the_first_success_are_not_available() -> None:
    tick = next(event for event in session() if isinstance(event, Sample))
    rendered = locust_csv.render([HEADER, msgspec.structs.replace(tick, endpoints=(), failures=())])
    line = csv_lines(rendered[f"{HEADER.id}_stats_history.csv"])[0]
    assert line["50%"] == line["100%"] == "N/A"
    assert line["Total Request Count"] == "0"


@pytest.mark.parametrize(
    ("ticks", "empty"),
    [
        ((), {"Median", "Average", "Min", "Max", "Size"}),
        ((EndpointTick(name="/warm", warmup_requests=3),), {"Median", "Average", "Min", "Max", "Size"}),
        ((EndpointTick(name="/failed", requests=2, failures=2, failure_latency_sum_ms=8.0),), {"Median", "Min", "Max", "Size"}),
        ((EndpointTick(name="/imported", requests=2, latency_sum_ms=8.0, received_bytes=9),), {"Median", "Min", "Max"}),
    ],
)
def test_what_was_not_measured_is_empty_and_not_0(ticks: tuple[EndpointTick, ...], empty: set[str]) -> None:
    tick = next(event for event in session() if isinstance(event, Sample))
    rendered = locust_csv.render([HEADER, msgspec.structs.replace(tick, endpoints=ticks, failures=())])
    for name, prefix in (("stats", ""), ("stats_history", "Total ")):
        line = csv_lines(rendered[f"{HEADER.id}_{name}.csv"])[-1]
        figures = {kind: line[f"{prefix}{kind} Response Time"] for kind in ("Median", "Average", "Min", "Max")}
        figures["Size"] = line[f"{prefix}Average Content Size"]
        assert {kind for kind, figure in figures.items() if figure == ""} == empty


def test_hostile_endpoint_names_are_no_formulas_and_do_not_shift_columns() -> None:
    for line in csv_lines(csv_files(text="=cmd()" + HOSTILE)["stats"])[:-1]:
        assert line["Name"].startswith("'=cmd()")
        assert line["Request Count"].isdigit()

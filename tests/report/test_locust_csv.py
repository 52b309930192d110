"""Locust's four files: its columns to the letter, its figures as far as the log holds them."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from capexplorer.model.events import Sample
from capexplorer.report import locust_csv

from .material import HEADER, HOSTILE, session

FILES = ("stats", "stats_history", "failures", "exceptions")

LOCUSTFILE = """
from pathlib import Path
from locust import HttpUser, constant, task

class Someone(HttpUser):
    wait_time = constant(0.05)

    @task
    def there(self):
        self.client.get("/there")
        self.client.get("/missing")
        if "/missing" in Path("theirs_failures.csv").read_text():
            self.environment.runner.quit()
"""


def read(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def files(text: str = "") -> dict[str, bytes]:
    """By Locust's names, without the prefix."""
    rendered = locust_csv.render(session(text=text))
    return {name.removeprefix(f"{HEADER.id}_").removesuffix(".csv"): content for name, content in rendered.items()}


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/there" else 404)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_the_columns_are_those_that_the_installed_locust_writes(url: str, tmp_path: Path) -> None:
    (tmp_path / "locustfile.py").write_text(LOCUSTFILE)
    command = [sys.executable, "-m", "locust", "--headless", "-u", "1", "-H", url, "--csv", "theirs"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)  # 1: there were failures
    for name, content in files().items():
        theirs = (tmp_path / f"theirs_{name}.csv").read_text().splitlines()
        assert content.decode().splitlines()[0] == theirs[0], name
    assert len((tmp_path / "theirs_failures.csv").read_text().splitlines()) == 2  # so the comparison was of a real run


def test_there_are_four_files_named_after_the_session() -> None:
    assert tuple(files()) == FILES and all(name.startswith(HEADER.id) for name in locust_csv.render(session()))


def test_counts_are_of_all_requests_from_the_first_on() -> None:
    ticks = [tick for event in session() if isinstance(event, Sample) for tick in event.endpoints]
    aggregated = read(files()["stats"])[-1]
    assert (aggregated["Type"], aggregated["Name"]) == ("", "Aggregated")
    assert int(aggregated["Request Count"]) == sum(tick.requests + tick.warmup_requests for tick in ticks)
    assert int(aggregated["Failure Count"]) == sum(tick.failures for tick in ticks) > 0
    assert float(aggregated["Requests/s"]) == pytest.approx(int(aggregated["Request Count"]) / 36)


def test_endpoints_are_in_the_order_of_their_names() -> None:
    names = [line["Name"] for line in read(files()["stats"])]
    assert names == ["/cpu", "/health", "/io", "/tasks/{id}", "Aggregated"]


def test_percentiles_rise_to_the_greatest() -> None:
    for line in read(files()["stats"]):
        found = [int(line[name]) for name in line if name.endswith("%")]
        assert found == sorted(found) and found[-1] == round(float(line["Max Response Time"]))


def test_history_has_a_line_a_tick_whose_totals_end_at_the_stats() -> None:
    history, stats = read(files()["stats_history"]), read(files()["stats"])
    assert len(history) == 36 and {line["Name"] for line in history} == {"Aggregated"}
    assert history[-1]["Total Request Count"] == stats[-1]["Request Count"]
    assert history[-1]["99%"] == stats[-1]["99%"]
    assert int(history[1]["Timestamp"]) - int(history[0]["Timestamp"]) == 1
    assert history[0]["Timestamp"] == str(1_767_265_200 + 2)  # 2026-01-01T12:00:00+01:00, and 2 s


def test_the_rates_of_history_are_over_ten_seconds() -> None:
    counts = [
        sum(tick.requests + tick.warmup_requests for tick in event.endpoints) for event in session() if isinstance(event, Sample)
    ]
    assert float(read(files()["stats_history"])[20]["Requests/s"]) == pytest.approx(sum(counts[11:21]) / 10)


def test_failures_show_when_they_were_seen_and_how_often() -> None:
    (failure,) = read(files()["failures"])
    assert failure["Error"] == "ConnectionError, errno 111: refused" and failure["Occurrences"] == "12"
    assert (failure["First Seen"], failure["Last Seen"]) == ("2026-01-01T11:00:26Z", "2026-01-01T11:00:37Z")


def test_before_the_first_success_percentiles_are_not_there() -> None:
    tick = next(event for event in session() if isinstance(event, Sample))
    rendered = locust_csv.render([HEADER, msgspec.structs.replace(tick, endpoints=(), failures=())])
    line = read(rendered[f"{HEADER.id}_stats_history.csv"])[0]
    assert line["50%"] == line["100%"] == "N/A" and line["Total Request Count"] == "0"


def test_hostile_names_stay_in_their_cells() -> None:
    for line in read(files(text="=cmd()" + HOSTILE)["stats"])[:-1]:
        assert line["Name"].startswith("'=cmd()") and line["Request Count"].isdigit()


def test_a_session_of_unknown_date_begins_in_1970() -> None:
    unknown = msgspec.structs.replace(HEADER, started_at="")
    rendered = locust_csv.render(session(header=unknown))
    assert read(rendered[f"{HEADER.id}_stats_history.csv"])[0]["Timestamp"] == "2"

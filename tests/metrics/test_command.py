"""`capexplorer metrics` as a command: what it refuses, and a saved session that it exports to the end."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from kit.servers import Reply, http_server
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from capexplorer import cli
from capexplorer.metrics.table import METRICS, PREFIX
from capexplorer.model.events import Ended
from lab.kit.runs import PROGRAM

from .whole import whole

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> str:
    session = whole()
    return str(session.add(Ended(t_s=session.t_s, reason="quit")).write(tmp_path / "saved.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "SESSION"), (["SAVED", "--listen", "9464"], "--listen"), (["SAVED", "--listen", "127.0.0.1:0"], "--listen"),
        (["SAVED", "--otlp", "127.0.0.1:4318"], "--otlp"), (["SAVED", "--grafana", "ftp://x"], "--grafana"),
        (["SAVED", "--grafana", "http://127.0.0.1:3000"], "CAPEXPLORER_GRAFANA_TOKEN"), (["nothing"], "nothing"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_that_names_it(
    arguments: list[str],
    named: str,
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("CAPEXPLORER_GRAFANA_TOKEN", raising=False)
    words = [path if word == "SAVED" else word for word in arguments]
    assert cli.run(["metrics", *words, "--sessions-dir", str(tmp_path / "none")]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert named in error


def test_a_port_in_use_is_one_line(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert cli.run(["metrics", path, "--listen", f"127.0.0.1:{taken.getsockname()[1]}"]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert "in use" in error


def test_a_saved_session_is_sent_to_its_end_and_the_command_ends(path: str) -> None:
    with http_server() as server:
        assert cli.run(["metrics", path, "--otlp", server.url, "--speed", "1000"]) == 0
    assert {each.path for each in server.requests} == {"/v1/metrics"}


def test_a_receiver_that_took_nothing_is_named_and_the_exit_code_says_so(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    with http_server(lambda request: Reply(500)) as server:
        assert cli.run(["metrics", path, "--otlp", server.url]) == 4
    assert f"--otlp {server.url}: HTTP 500" in capfd.readouterr().err


def test_a_dashboard_is_written_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "dashboard.json"
    assert cli.run(["metrics", "--dashboard", str(file)]) == 0
    assert json.loads(file.read_text())["panels"]
    assert cli.run(["metrics", "--dashboard", str(file)]) == 2
    assert cli.run(["metrics", "--dashboard", str(file), "--force"]) == 0
    assert capfd.readouterr().err.count("\n") == 1


def test_the_page_names_every_metric_with_its_labels_and_no_other() -> None:
    """A row has names without their prefix, and the labels of all of them."""
    rows = re.findall(r"^\| (`.*) \| (.*) \|", (ROOT / "docs/metrics.md").read_text("utf-8"), re.MULTILINE)
    named = {name: tuple(re.findall(r"`(\w+)`", labels)) for names, labels in rows for name in re.findall(r"`(\w+)`", names)}
    assert named == {metric.full_name.removeprefix(PREFIX): metric.labels for metric in METRICS}


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_what_is_known_is_sent_when_a_signal_ends_it(ending: signal.Signals, tmp_path: Path) -> None:
    live = str(whole().write(tmp_path / "live.jsonl"))
    with http_server() as server:
        command = [PROGRAM, "metrics", live, "--otlp", server.url]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("following ")
            process.send_signal(ending)
            assert process.wait(60) == 128 + ending
    sent = ExportMetricsServiceRequest.FromString(server.requests[-1].body)
    names = {metric.name for resource in sent.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics}
    assert names == {f"{PREFIX}{metric.name}" for metric in METRICS}

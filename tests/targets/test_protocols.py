"""The profiles of other protocols than plain HTTP with their locustfiles, against the target `protocols`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from e2e.rig import ROOT, export, run_to_end

from capexplorer.model.events import Mark
from lab.kit.runs import events_of

pytestmark = pytest.mark.slow


def ran(folder: Path, profile: str, plan: str, fault: str) -> tuple[dict[str, Any], set[str]]:
    """(summary, ids of causes)."""
    if profile == "grpc":
        pytest.importorskip("grpc")
    run, code = run_to_end(folder, profile, "--headless", "--plan", plan, "--set", f"fault={fault}", cwd=ROOT)
    assert code == 0, run.stderr
    return export(run.sessions), {each.id for each in events_of(run.events(), Mark) if each.kind == "cause"}


@pytest.mark.parametrize(
    ("profile", "names", "cause"),
    [
        ("websocket", {"echo"}, "server_busy"),
        ("socketio", {"work"}, "failed_check"),
        ("graphql", {"Order", "Orders"}, "server_busy"),
        ("grpc", {"/sample.Pool/Work", "/sample.Pool/Stream"}, "server_busy"),
        ("tcp", {"line"}, "failed_check"),
    ],
)
def test_few_users_succeed_and_too_many_are_refused(profile: str, names: set[str], cause: str, tmp_path: Path) -> None:
    summary, causes = ran(tmp_path, profile, "4:5s,40:6s", "busy")
    few, many = summary["levels"]
    assert few["failure_ratio"] == 0 < many["failure_ratio"]
    assert names <= {each["name"] for each in summary["endpoints"]}
    assert causes == {cause}


@pytest.mark.parametrize(
    ("profile", "fault", "cause"),
    [
        ("websocket", "close", "connection_reset"),
        ("websocket", "error", "service_error"),
        ("grpc", "close", "service_unavailable"),
    ],
)
def test_a_connection_that_is_closed_has_its_cause(profile: str, fault: str, cause: str, tmp_path: Path) -> None:
    assert ran(tmp_path, profile, "10:5s", fault)[1] == {cause}

"""Headless runs of the product's profiles, a few seconds each: their locustfiles and targets work together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from e2e.rig import ROOT, export, run_to_end
from programs import needs

pytestmark = pytest.mark.slow

needs_go = needs("go")


def ran(folder: Path, *args: str) -> tuple[int, str, dict[str, Any]]:
    """(exit code, stderr, summary)."""
    run, code = run_to_end(folder, *args, "--headless", cwd=ROOT)
    return code, run.stderr, export(run.sessions)


def failures(summary: dict[str, Any]) -> dict[str, int]:
    return {f"{each['method']} {each['name']}": each["failures"] for each in summary["endpoints"]}


def test_clients_of_the_task_queue_submit_a_task_every_five_seconds_and_fetch_its_result(tmp_path: Path) -> None:
    code, errors, summary = ran(tmp_path, "taskqueue", "--plan", "20:22s")  # four cycles: users are in step
    assert code == 0, errors
    requests = {each["name"]: each["requests"] for each in summary["endpoints"]}
    seconds = sum(level["ended_s"] - level["settled_s"] for level in summary["levels"])
    submitted = sum(count for name, count in requests.items() if name.startswith("/tasks/submissions "))  # http-fetch, factorial
    assert submitted / seconds / 20 == pytest.approx(1 / 5, rel=0.25)
    assert summary["levels"][0]["goodput_rps"] == pytest.approx(4, rel=0.25)
    # At both ends of what is counted, each user may have a task on its way, and on a busy machine one more.
    on_their_way = 2 * 20
    assert abs(requests["/tasks/{id}"] - submitted) <= on_their_way
    assert submitted - on_their_way <= requests["/tasks/submissions/{id}"] <= 2 * submitted + on_their_way
    assert set(failures(summary).values()) == {0}


@needs_go
def test_a_map_without_a_lock_crashes_and_go_says_why(tmp_path: Path) -> None:
    code, errors, _ = ran(tmp_path, "kv-go-plain", "--set", "burst=20000", "--plan", "50:20s")
    assert (code, "fatal error: concurrent map writes" in errors) == (4, True)


@needs_go
def test_updates_that_a_plain_counter_loses_are_reported(tmp_path: Path) -> None:
    """Losses add up, but hide behind increments on their way: on a busy machine no read of 30 users showed one."""
    code, errors, summary = ran(tmp_path, "kv-go-counter", "--set", "burst=1000000", "--plan", "30:5s,2:6s")
    assert code == 0, errors
    found = failures(summary)
    assert found["GET /counter"] > 0
    assert found["POST /increment"] == 0

"""The API of the target `taskqueue`: tasks are accepted or refused, carried out, counted, and survive the service."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from capexplorer.read.ports import listening_pid
from lab.kit.runs import wait_until

from .served import served

SUBMISSIONS = "/tasks/submissions"
QUICK = {"fetch_ms": 1, "factorial_n": 10}
STUCK = {"workers": 1, "fetch_ms": 60_000}
"""Parameters with which the only worker does not finish a fetch during the test."""


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served("taskqueue", tmp_path_factory.mktemp("scratch"), **QUICK) as client:
        yield client


def submit(queue: httpx.Client, kind: str) -> str:
    answer = queue.post(SUBMISSIONS, json={"kind": kind})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def status(queue: httpx.Client, task: str) -> str:
    return str(queue.get(f"{SUBMISSIONS}/{task}").json()["status"])


def wait_for(queue: httpx.Client, task: str, wanted: str) -> None:
    wait_until(lambda: status(queue, task) == wanted, f"{task} is {wanted}", pause_s=0.02)


def metrics(queue: httpx.Client) -> dict[str, int]:
    found: dict[str, int] = queue.get("/metrics").json()
    assert found["accepted"] == found["queued"] + found["running"] + found["finished"] + found["failed"]
    return found


def test_the_reply_to_a_submission_has_the_location_of_its_status(queue: httpx.Client) -> None:
    answer = queue.post(SUBMISSIONS, json={"kind": "factorial"})
    assert (answer.status_code, answer.json()["status"]) == (202, "QUEUED")
    assert queue.get(answer.headers["Location"]).json()["id"] == answer.json()["id"]


def test_factorial_computes(queue: httpx.Client) -> None:
    task = submit(queue, "factorial")
    wait_for(queue, task, "SUCCEEDED")
    assert queue.get(f"/tasks/{task}").json()["result"] == {"n": 10, "bits": 22, "checksum": 3_628_800}


def test_http_fetch_fetches_the_page_that_the_service_serves_itself(queue: httpx.Client) -> None:
    task = submit(queue, "http-fetch")
    wait_for(queue, task, "SUCCEEDED")
    assert queue.get(f"/tasks/{task}").json()["result"] == {"status": 200, "bytes": len(queue.get("/page").content)}


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"kind": "other"}', b'{"kind": 7}', b"not json"])
def test_an_invalid_task_is_refused_with_the_expected_form(queue: httpx.Client, body: bytes) -> None:
    answer = queue.post(SUBMISSIONS, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, "factorial, http-fetch" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize("path", [f"{SUBMISSIONS}/000000099", "/tasks/000000099", "/tasks/..%2F..%2Fetc"])
def test_an_unknown_task_is_not_found(queue: httpx.Client, path: str) -> None:
    assert queue.get(path).status_code == 404


def test_a_full_queue_refuses_and_has_no_result_to_show_yet(tmp_path: Path) -> None:
    with served("taskqueue", tmp_path, **STUCK, queue_size=2) as queue:
        first = submit(queue, "http-fetch")
        wait_for(queue, first, "RUNNING")
        assert queue.get(f"/tasks/{first}").status_code == 409
        waiting = [submit(queue, "factorial") for _ in range(2)]
        refused = queue.post(SUBMISSIONS, json={"kind": "factorial"})
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert [status(queue, task) for task in waiting] == ["QUEUED", "QUEUED"]
        assert metrics(queue) == {"queued": 2, "running": 1, "accepted": 3, "finished": 0, "failed": 0, "rejected": 1}


def test_the_next_process_repeats_unfinished_tasks_and_keeps_results(tmp_path: Path) -> None:
    with served("taskqueue", tmp_path, **STUCK) as queue:
        ended = submit(queue, "factorial")
        wait_for(queue, ended, "SUCCEEDED")
        result = queue.get(f"/tasks/{ended}").json()
        running, queued = submit(queue, "http-fetch"), submit(queue, "factorial")
        wait_for(queue, running, "RUNNING")
    with served("taskqueue", tmp_path, **QUICK) as queue:
        for task in (running, queued):
            wait_for(queue, task, "SUCCEEDED")
        assert queue.get(f"/tasks/{ended}").json() == result
        assert metrics(queue) == {"queued": 0, "running": 0, "accepted": 2, "finished": 2, "failed": 0, "rejected": 0}
        assert submit(queue, "factorial") > queued


def test_tasks_in_a_data_folder_survive_the_session(tmp_path: Path) -> None:
    with served("taskqueue", tmp_path / "one", **QUICK, data=str(tmp_path / "kept")) as queue:
        task = submit(queue, "factorial")
        wait_for(queue, task, "SUCCEEDED")
    with served("taskqueue", tmp_path / "other", **QUICK, data=str(tmp_path / "kept")) as queue:
        assert status(queue, task) == "SUCCEEDED"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("leak", [True, False])
def test_the_leak_keeps_a_descriptor_a_fetch_and_is_off_by_default(leak: bool, tmp_path: Path) -> None:
    with served("taskqueue", tmp_path, **QUICK, **({"fd_leak": True} if leak else {})) as queue:
        fetch(queue)
        before = len(descriptors(queue))
        for _ in range(8):
            fetch(queue)
        assert len(descriptors(queue)) - before in (
            [7, 8, 9] if leak else [-1, 0, 1]
        )  # the server may still hold one's connection


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_task_without_a_free_descriptor_fails_with_a_message(tmp_path: Path) -> None:
    with served("taskqueue", tmp_path, **QUICK) as queue:
        fetch(queue)
        resource.prlimit(pid_of(queue), resource.RLIMIT_NOFILE, (max(descriptors(queue)) + 1,) * 2)
        refused = queue.post(SUBMISSIONS, json={"kind": "http-fetch"})
        assert refused.status_code == 500
        assert "Too many open files" in refused.json()["error"]


def fetch(queue: httpx.Client) -> None:
    wait_for(queue, submit(queue, "http-fetch"), "SUCCEEDED")


def pid_of(queue: httpx.Client) -> int:
    pid = listening_pid(queue.base_url.port or 0)
    assert pid is not None
    return pid


def descriptors(queue: httpx.Client) -> list[int]:
    return [int(path.name) for path in Path(f"/proc/{pid_of(queue)}/fd").iterdir()]

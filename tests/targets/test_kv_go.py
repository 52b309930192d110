"""The target `kv-go`: its API with each store, its failures without locks, and one line if it cannot be built."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from programs import needs

from .served import TARGETS, served

START = TARGETS / "kv-go" / "start.py"
AT_ONCE = 16

needs_go = needs("go")


@pytest.fixture(params=["mutex", "rwmutex", "syncmap"], scope="module")
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served("kv-go", tmp_path_factory.mktemp("scratch"), store=request.param, burst=10, log="buffered") as client:
        yield client


def together(calls: int, call: object) -> list[int]:
    assert callable(call)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda _: int(call()), range(calls)))


@needs_go
def test_a_value_that_was_posted_can_be_read(store: httpx.Client) -> None:
    assert store.get("/get?key=key-7").json() == {"key": "key-7", "value": "value-7"}
    assert store.post("/post", json={"key": "new", "value": "one"}).json() == {"key": "new", "value": "one"}
    assert store.get("/get?key=new").json()["value"] == "one"
    assert store.get("/get?key=nothing").status_code == 404


@needs_go
@pytest.mark.parametrize("body", [{"key": "a"}, {"value": "a"}, {"key": 1, "value": "a"}, [], "text"])
def test_a_body_that_is_not_a_pair_of_texts_is_refused(store: httpx.Client, body: object) -> None:
    assert store.post("/post", json=body).status_code == 400


@needs_go
def test_other_methods_are_refused(store: httpx.Client) -> None:
    answer = store.delete("/get")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET")


@needs_go
def test_readers_and_writers_at_the_same_time_all_get_their_answer(store: httpx.Client) -> None:
    before = store.get("/metrics").json()
    pair = {"key": "key-1", "value": "x"}
    assert set(together(100, lambda: store.post("/post", json=pair).status_code)) == {200}
    assert set(together(100, lambda: store.get("/get?key=key-1").status_code)) == {200}
    after = store.get("/metrics").json()
    assert [after[name] - before[name] for name in ("gets", "posts")] == [100, 100]


@needs_go
def test_an_atomic_counter_counts_every_increment(tmp_path: Path) -> None:
    with served("kv-go", tmp_path, counter="atomic", burst=1000) as service:
        answers = together(100, lambda: service.post("/increment").json()["added"])
        assert service.get("/counter").json()["counter"] == sum(answers) == 100_000


@needs_go
def test_two_sessions_that_need_the_binary_at_once_build_it_once(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "GOCACHE": _go_cache()}
    command = [sys.executable, str(START), "-build"]
    both = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    assert sum(line.count("building with") for line in errors) == 1


def _go_cache() -> str:
    """Go's own cache, which would be below XDG_CACHE_HOME if it were not set."""
    return subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("go", "errors"),
    [(None, "there is no `go` on PATH"), ("go1.17.13", "is go1.17.13"), ("", "is older")],
    ids=["missing", "too old", "without GOVERSION"],
)
def test_a_missing_compiler_is_reported_in_one_line(go: str | None, errors: str, tmp_path: Path) -> None:
    if go is not None:
        (tmp_path / "go").write_text(f"#!/bin/sh\necho {go}\n")
        (tmp_path / "go").chmod(0o755)
    done = subprocess.run([sys.executable, START], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    [line] = done.stderr.splitlines()
    assert (done.returncode, "Go 1.19 or later is needed" in line, errors in line) == (1, True, True)

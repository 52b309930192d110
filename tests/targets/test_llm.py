"""The target `llm`: its law without a clock, and the server that follows it."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from capexplorer.read.metrics import samples

from .served import TARGETS, served


@pytest.fixture(scope="module")
def engine() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("llm_engine", TARGETS / "llm" / "engine.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look themselves up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def law(engine: ModuleType, **changes: Any) -> Any:
    given = {"slots": 4, "kv_tokens": 10_000, "prefill_per_s": 1_000.0, "decode_per_s": 10.0, "batch_cost": 0.5}
    return engine.Law(**given | changes)


def carried_out(engine: ModuleType, law: Any, *jobs: Any) -> tuple[list[float], float]:
    """(when each of the jobs that arrive at once has its first token, when all have ended), in seconds."""
    running, now_s = engine.Engine(law), 0.0
    first_s = dict[int, float]()
    for job in jobs:
        running.add(job)
    while running.is_busy:
        now_s += running.begin()
        assert running.kv_used <= law.kv_tokens
        for job in running.end():
            first_s.setdefault(id(job), now_s)
    assert running.kv_used == 0
    return [first_s[id(job)] for job in jobs], now_s


def test_a_request_alone_reads_its_prompt_and_then_gets_a_token_a_step(engine: ModuleType) -> None:
    first_s, end_s = carried_out(engine, law(engine, chunk_tokens=64), engine.Job(200, 11))
    assert first_s == [pytest.approx(0.2)]
    assert end_s == pytest.approx(0.2 + 10 / 10)


def test_a_step_is_longer_by_the_batch_law_for_each_further_request(engine: ModuleType) -> None:
    _, end_s = carried_out(engine, law(engine, prefill_per_s=1e9), *(engine.Job(1, 11) for _ in range(3)))
    assert end_s == pytest.approx(10 * 0.1 * (1 + 0.5 * 2), rel=1e-6)


def test_a_prompt_delays_the_tokens_of_the_batch(engine: ModuleType) -> None:
    running = engine.Engine(law(engine))
    running.add(engine.Job(1, 50))
    running.begin(), running.end()
    assert running.begin() == pytest.approx(0.1)
    running.end()
    running.add(engine.Job(300, 1))
    assert running.begin() == pytest.approx(0.1 + 0.3)


def test_requests_beyond_the_slots_wait_in_order(engine: ModuleType) -> None:
    first_s, _ = carried_out(engine, law(engine, slots=1), *(engine.Job(100, 11) for _ in range(3)))
    assert first_s == pytest.approx([0.1, 1.2, 2.3])


def test_a_full_batch_has_the_capacity_of_the_law(engine: ModuleType) -> None:
    busy = law(engine, slots=8, batch_cost=0.1)
    _, end_s = carried_out(engine, busy, *(engine.Job(50, 80 + index % 41) for index in range(2_000)))
    assert 2_000 / end_s == pytest.approx(busy.capacity_per_s(50, 100), rel=0.01)


def test_a_full_cache_sends_the_latest_request_back_and_all_end(engine: ModuleType) -> None:
    jobs = [engine.Job(10, 40) for _ in range(4)]
    carried_out(engine, law(engine, kv_tokens=100), *jobs)
    assert jobs[0].preemptions == 0 < jobs[-1].preemptions
    assert all(job.is_done for job in jobs)


def test_what_a_client_left_frees_its_slot_and_its_room(engine: ModuleType) -> None:
    running, jobs = engine.Engine(law(engine, slots=1)), [engine.Job(10, 40) for _ in range(2)]
    for job in jobs:
        running.add(job)
    running.begin()
    running.remove(jobs[0])
    assert running.end() == []
    running.begin()
    assert running.end() == [jobs[1]]
    assert running.kv_used == 11


# -- the server


def chat(words: int, tokens: int, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": " a" * words}], "max_tokens": tokens, **more}


def events(client: httpx.Client, path: str, asked: dict[str, Any]) -> list[Any]:
    with client.stream("POST", path, json=asked) as answer:
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_it_streams_tokens_with_usage_and_says_the_same_at_once(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    with served("llm", tmp_path, decode_per_s=500.0, log=str(log)) as client:
        role, *tokens, last = events(
            client, "/v1/chat/completions", chat(7, 5, stream=True, stream_options={"include_usage": True})
        )
        assert role["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        text = "".join(each["choices"][0]["delta"]["content"] for each in tokens)
        assert len(tokens) == len(text.split()) == 5
        assert [each["choices"][0]["finish_reason"] for each in tokens] == [None] * 4 + ["length"]
        assert last["usage"] == {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}

        whole = client.post("/v1/completions", json={"prompt": [1, 2, 3], "max_tokens": 4}).json()
        assert (len(whole["choices"][0]["text"].split()), whole["usage"]["prompt_tokens"]) == (4, 3)
        assert [
            len(each["choices"]) for each in events(client, "/v1/completions", {"prompt": "a", "max_tokens": 3, "stream": True})
        ]
        assert client.post("/v1/completions", json={"prompt": "a"}).json()["choices"][0]["finish_reason"] == "stop"
        assert client.get("/v1/models").json()["data"][0]["id"] == "llm"
    own = [json.loads(line) for line in log.read_text().splitlines()]
    assert [each["output_tokens"] for each in own[:3]] == [5, 4, 3]
    assert all(each["arrived_s"] < each["first_s"] < each["ended_s"] for each in own)


@pytest.mark.parametrize(
    ("asked", "status"),
    [(chat(10, 500), 400), (chat(1, 0), 400), ({"messages": 7}, 400), ({"messages": [], "max_tokens": 1}, 200)],
)
def test_what_it_cannot_do_it_refuses(tmp_path: Path, asked: dict[str, Any], status: int) -> None:
    with served("llm", tmp_path, kv_tokens=100) as client:
        answer = client.post("/v1/chat/completions", json=asked)
        assert answer.status_code == status
        assert ("error" in answer.json()) == (status != 200)
        assert client.post("/v1/chat/completions", content=b"no JSON").status_code == 400
        assert client.get("/nothing").status_code == 404


def test_its_metrics_have_the_names_of_vllm(tmp_path: Path) -> None:
    with served("llm", tmp_path, decode_per_s=500.0) as client:
        client.post("/v1/chat/completions", json=chat(9, 21))
        found = {each.name.removeprefix("vllm:"): each.value for each in samples(client.get("/metrics").text)}
    assert (found["prompt_tokens_total"], found["generation_tokens_total"]) == (9, 21)
    assert found["num_requests_running"] == found["num_requests_waiting"] == found["kv_cache_usage_perc"] == 0
    assert found["num_preemptions_total"] == 0
    assert 0 < found["time_to_first_token_seconds_sum"]
    assert found["request_time_per_output_token_seconds_sum"] >= 0.0019
    assert found["e2e_request_latency_seconds_sum"] >= 20 * found["request_time_per_output_token_seconds_sum"]


def test_tokens_of_one_event_come_together(tmp_path: Path) -> None:
    with served("llm", tmp_path, event_tokens=4, decode_per_s=500.0) as client:
        _, *parts = events(client, "/v1/chat/completions", chat(1, 10, stream=True))
        assert [len(each["choices"][0]["delta"]["content"].split()) for each in parts] == [1, 4, 4, 1]


def test_a_client_that_leaves_gives_its_slot_to_the_next(tmp_path: Path) -> None:
    with served("llm", tmp_path, slots=1) as client:
        with client.stream("POST", "/v1/chat/completions", json=chat(1, 100_000 - 1, stream=True)) as answer:
            assert next(answer.iter_bytes())
        assert client.post("/v1/chat/completions", json=chat(1, 1)).status_code == 200
        assert 'finished_reason="abort"} 1' in client.get("/metrics").text

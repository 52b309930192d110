"""The API of the target `kv` is the same with each store."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from .served import served


@pytest.fixture(params=["none", "lock", "rwlock", "sharded"], scope="module")
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served("kv", tmp_path_factory.mktemp("scratch"), store=request.param, burst=3) as client:
        yield client


def get(store: httpx.Client, key: str) -> tuple[int, str | None]:
    answer = store.get("/get", params={"key": key})
    return answer.status_code, answer.json().get("value")


def post(store: httpx.Client, key: str, value: str) -> int:
    return store.post("/post", json={"key": key, "value": value}).status_code


def test_keys_exist_from_the_start_and_a_value_that_was_posted_can_be_read(store: httpx.Client) -> None:
    assert [get(store, key) for key in ("key-0", "key-999")] == [(200, "value-0"), (200, "value-999")]
    for value in ("one", "two"):
        assert (post(store, "new", value), get(store, "new")) == (200, (200, value))


@pytest.mark.parametrize("key", ["key-1000", "", "KEY-1"])
def test_a_key_that_is_not_there_is_not_found(store: httpx.Client, key: str) -> None:
    assert get(store, key) == (404, None)


@pytest.mark.parametrize(
    "body", [{"key": "a"}, {"value": "a"}, {"key": 1, "value": "a"}, {"key": "a", "value": None}, [], "text"]
)
def test_a_body_that_is_not_a_pair_of_texts_is_refused(store: httpx.Client, body: object) -> None:
    assert store.post("/post", json=body).status_code == 400


def test_readers_and_writers_at_the_same_time_all_get_their_answer(store: httpx.Client) -> None:
    def both(number: int) -> tuple[int, int]:
        return post(store, f"key-{number % 5}", "x"), get(store, f"key-{number % 7}")[0]

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(both, range(200))) == {(200, 200)}

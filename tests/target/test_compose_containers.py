"""Whether containers are ready or have failed, from replies of `docker inspect` that docker 20.10 and Compose 2.32 gave
(tests/data/compose)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from capexplorer.target.containers import Container, changes, described, masked, run_readiness, start_readiness

DATA = Path(__file__).resolve().parents[1] / "data" / "compose"
STARTING = described(json.loads((DATA / "starting.json").read_text(encoding="utf-8")))
STARTED = described(json.loads((DATA / "started.json").read_text(encoding="utf-8")))
WEB = Container(id="1", name="x-web-1", service="web", status="running", health="healthy", pid=7)
STORE = Container(id="2", name="x-store-1", service="store", status="running", pid=8)


def container_of(service: str, among: tuple[Container, ...] = STARTED) -> Container:
    return next(each for each in among if each.service == service)


def test_containers_are_listed_by_service_and_number() -> None:
    assert [(each.service, each.number) for each in STARTED] == [
        ("again", 1), ("broken", 1), ("migration", 1), ("pool", 1), ("pool", 2), ("store", 1), ("web", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("service", "words"),
    [
        ("web", "health check healthy"),
        ("store", 'unhealthy: no answer: Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused'),
        ("broken", "exited with code 3"),
        ("again", "restarting, exited with code 1"),
    ],
)
def test_the_state_of_a_container_in_words(service: str, words: str) -> None:
    assert container_of(service).state_in_words() == words


def test_a_container_that_the_kernel_ended_for_its_memory_says_so() -> None:
    ended = replace(WEB, status="exited", exit_code=137, was_out_of_memory=True)
    assert ended.state_in_words() == "exited with code 137, out of memory"


def test_a_service_that_exited_fails_the_start_although_others_run() -> None:
    verdict = start_readiness(STARTED, ["web"])
    assert (verdict.state, verdict.why) == ("failed", "broken: exited with code 3")
    assert verdict.container == container_of("broken")


def test_a_service_that_is_unhealthy_fails_the_start() -> None:
    assert start_readiness([container_of("web"), container_of("store")], ["web", "store"]).why.startswith(
        "store: unhealthy: no answer"
    )


def test_the_start_waits_for_health_for_restarts_and_for_services_without_a_container() -> None:
    well = [container_of(service, STARTING) for service in ("web", "pool", "again")]
    verdict = start_readiness(well, ["web", "pool", "again", "cache"])
    assert verdict.state == "waiting"
    assert verdict.why == "web (health check starting), again (restarting, exited with code 1), cache (not created)"


def test_services_are_ready_if_healthy_or_running_without_a_check_or_ended_with_code_0() -> None:
    well = [container_of("web"), container_of("pool"), container_of("migration")]
    assert start_readiness(well, ["web", "pool", "migration"]).state == "ready"


def test_the_start_fails_if_all_services_have_ended() -> None:
    assert start_readiness([container_of("migration")], ["migration"]).why == "all services have ended"


def test_a_service_that_ends_fails_the_run_whatever_its_code() -> None:
    ended = replace(STORE, status="exited", exit_code=0)
    verdict = run_readiness([WEB, ended], [WEB, STORE])
    assert (verdict.state, verdict.why) == ("failed", "store: exited with code 0")


def test_a_container_that_was_removed_fails_the_run() -> None:
    assert run_readiness([WEB], [WEB, STORE]).why == "store: its container was removed"


def test_a_service_that_fails_its_check_under_load_or_is_started_again_does_not_end_the_run() -> None:
    now = [replace(WEB, health="unhealthy", health_output="timeout\n"), replace(STORE, status="restarting", exit_code=1)]
    assert run_readiness(now, [WEB, STORE]).state == "ready"
    assert changes([WEB, STORE], now) == ["web: unhealthy: timeout", "store: restarting, exited with code 1"]
    assert changes(now, [WEB, STORE]) == ["web: healthy again", "store: healthy again"]
    assert changes(now, now) == []


def test_a_container_that_had_ended_before_the_run_does_not_end_it() -> None:
    migration = container_of("migration")
    assert run_readiness([WEB, migration], [WEB, migration]).state == "ready"


def test_values_of_secret_variables_are_hidden_in_what_services_print() -> None:
    store = container_of("store")
    assert store.secrets == {"correct-horse-battery"}
    assert masked("password is correct-horse-battery, level debug", store.secrets) == "password is ***, level debug"
    assert "correct-horse-battery" not in repr([each.secrets for each in STARTED if each.service != "store"])

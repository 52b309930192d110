"""A locustfile as teams write them, without anything specific to capexplorer."""

# mypy: ignore-errors

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from locust import FastHttpUser, HttpUser, SequentialTaskSet, TaskSet, between, constant, events, tag, task

log = logging.getLogger("shop")


@events.init_command_line_parser.add_listener
def add_arguments(parser: Any) -> None:
    parser.add_argument("--shop-currency", default="EUR")


@events.init.add_listener
def on_init(environment: Any, **_: Any) -> None:
    print("init: currency", environment.parsed_options.shop_currency)


@events.test_start.add_listener
def on_test_start(environment: Any, **_: Any) -> None:
    print(f"test_start: host {environment.host}")


@events.test_stop.add_listener
def on_test_stop(**_: Any) -> None:
    print("test_stop listener")


@events.quitting.add_listener
def on_quitting(**_: Any) -> None:
    print("quitting listener", file=sys.stderr)


class Shop(TaskSet):
    @task
    class Basket(SequentialTaskSet):
        def on_start(self) -> None:
            self.client.get("/basket/open")

        @task
        def put(self) -> None:
            self.client.post("/basket", json={"item": 1})

        @task
        def leave(self) -> None:
            self.interrupt()

    @task(2)
    @tag("look")
    def look(self) -> None:
        with self.client.get("/look", catch_response=True) as response:
            if response.text != "ok":
                response.failure("content: not ok")

    @task
    def strict(self) -> None:
        with self.client.get("/strict", catch_response=True) as response:
            response.failure(f"price_check: {time.time()} is not a price")


class Customer(HttpUser):
    wait_time = between(0.01, 0.05)
    tasks = [Shop]

    def on_start(self) -> None:
        self.client.get("/login")
        print("a customer logs in")
        print("a customer on stderr", file=sys.stderr)
        log.warning("the shop is open")


class Robot(FastHttpUser):
    wait_time = constant(0.05)

    @task
    def feed(self) -> None:
        self.client.get("/feed")
        started = time.perf_counter()
        events.request.fire(
            request_type="QUEUE",
            name="publish",
            response_time=(time.perf_counter() - started) * 1000 + 1.0,
            response_length=10,
            exception=None,
            context={},
        )

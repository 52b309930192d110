"""A locustfile with a shape of its own: as many users as the file named by STAIR says, until it says `end`."""

# mypy: ignore-errors

from __future__ import annotations

import os
from pathlib import Path

from locust import HttpUser, LoadTestShape, constant, task


class Visitor(HttpUser):
    wait_time = constant(0.05)

    @task
    def visit(self) -> None:
        self.client.get("/visit")


class Stairs(LoadTestShape):
    def tick(self) -> tuple[int, float] | None:
        users = Path(os.environ["STAIR"]).read_text()
        return None if users == "end" else (int(users), 10.0)

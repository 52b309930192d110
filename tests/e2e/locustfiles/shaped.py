"""A locustfile with a shape: as many users as the number in the file at $USERS_FILE, until the file has the word `end`."""

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


class UsersOfFile(LoadTestShape):
    def tick(self) -> tuple[int, float] | None:
        users = Path(os.environ["USERS_FILE"]).read_text()
        return None if users == "end" else (int(users), 10.0)

"""Users of the plain `requests` client, and nothing else."""

# mypy: ignore-errors

from __future__ import annotations

from locust import HttpUser, constant, task


class Visitor(HttpUser):
    wait_time = constant(0.2)

    @task
    def look(self) -> None:
        self.client.get("/look")

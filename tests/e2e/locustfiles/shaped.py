"""A locustfile with a shape of its own."""

# mypy: ignore-errors

from __future__ import annotations

from locust import HttpUser, LoadTestShape, constant, task


class Visitor(HttpUser):
    wait_time = constant(0.05)

    @task
    def visit(self) -> None:
        self.client.get("/visit")


class Stairs(LoadTestShape):
    def tick(self) -> tuple[int, float] | None:
        now_s = self.get_run_time()
        if now_s < 4:
            return 2, 10.0
        return (5, 10.0) if now_s < 8 else None

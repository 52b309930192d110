"""Users that speak through no HTTP client of Locust's, beside some that do."""

# mypy: ignore-errors

from __future__ import annotations

from locust import FastHttpUser, User, constant, task


class Publisher(User):
    wait_time = constant(0.2)

    @task
    def publish(self) -> None:
        self.environment.events.request.fire(
            request_type="QUEUE", name="publish", response_time=1.0, response_length=1, exception=None, context={}
        )


class Robot(FastHttpUser):
    wait_time = constant(0.2)

    @task
    def look(self) -> None:
        self.client.get("/look")

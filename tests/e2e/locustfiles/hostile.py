"""Users that mark each response as failed, with the text of the response as the message, and print the text."""

# mypy: ignore-errors

from __future__ import annotations

from locust import HttpUser, constant, task


class Victim(HttpUser):
    wait_time = constant(0.2)

    @task
    def ask(self) -> None:
        with self.client.get("/hostile", catch_response=True) as response:
            response.failure(response.text)
            print(response.text)

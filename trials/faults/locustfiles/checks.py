"""Fails a reply because of its content: `some_check: what was seen`."""

# mypy: ignore-errors

from clients import Base
from locust import between, task


class Checking(Base):
    wait_time = between(0.05, 0.15)

    @task
    def work(self):
        with self.client.get("/work", catch_response=True) as response:
            if response.text not in ("ok", None):
                response.failure(response.text)

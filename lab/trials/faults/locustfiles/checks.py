"""Fails requests by the body of their replies, which names a check and its result: `lost_updates: expected 41, read 40`."""

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

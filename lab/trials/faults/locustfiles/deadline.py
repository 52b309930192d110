"""Polls for a result that never comes, until a deadline."""

# mypy: ignore-errors

import time

from clients import Base
from locust import constant, task


class Polling(Base):
    wait_time = constant(0.1)

    @task
    def poll(self):
        deadline_s = time.monotonic() + 1
        while time.monotonic() < deadline_s:
            self.client.get("/status")
            time.sleep(0.2)
        with self.client.get("/status", catch_response=True) as response:
            response.failure("task_timeout: not finished after 1 s")

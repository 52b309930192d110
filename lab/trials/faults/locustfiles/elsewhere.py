"""Sends requests to a host that is not allowed."""

# mypy: ignore-errors

from clients import Base
from locust import between, task


class Elsewhere(Base):
    wait_time = between(0.05, 0.15)

    @task
    def work(self):
        self.client.get("http://10.9.9.9/work", name="/work")

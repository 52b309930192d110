"""Keeps each reply and 40 KB in memory."""

# mypy: ignore-errors

from clients import Base
from locust import between, task

replies = []


class Hoarding(Base):
    wait_time = between(0.05, 0.15)

    @task
    def work(self):
        replies.append((self.client.get("/work").text, b"x" * 40_000))

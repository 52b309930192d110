"""Some users fail before their first task."""

# mypy: ignore-errors

import itertools

from clients import Base
from locust import between, task

starts = itertools.count()


class FailingAtStart(Base):
    wait_time = between(0.05, 0.15)

    def on_start(self):
        if next(starts) < 3:
            raise RuntimeError("no account left")

    @task
    def work(self):
        self.client.get("/work")

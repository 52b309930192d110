"""Some users fail before their first task."""

# mypy: ignore-errors

import itertools

from clients import Base
from locust import between, task

born = itertools.count()


class Unborn(Base):
    wait_time = between(0.05, 0.15)

    def on_start(self):
        if next(born) < 3:
            raise RuntimeError("no account left")

    @task
    def work(self):
        self.client.get("/work")

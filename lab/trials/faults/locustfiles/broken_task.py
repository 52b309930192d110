"""A mistake in a task, one time in three."""

# mypy: ignore-errors

import itertools

from clients import Base
from locust import between, task

turns = itertools.count()


class Broken(Base):
    wait_time = between(0.05, 0.15)

    @task
    def work(self):
        self.client.get("/work")
        if next(turns) % 3 == 0:
            {}["token"]

"""Tasks that block gevent's loop: they wait in a C library, which gevent cannot patch."""

# mypy: ignore-errors

import ctypes

from clients import Base
from locust import constant, task

usleep = ctypes.CDLL(None).usleep


class Blocking(Base):
    wait_time = constant(0.1)

    @task
    def work(self):
        self.client.get("/work")
        usleep(25_000)

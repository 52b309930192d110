"""Tasks that compute, such as signing, parsing or compressing."""

# mypy: ignore-errors

from clients import Base
from locust import constant, task


class Costly(Base):
    wait_time = constant(0.1)

    @task
    def work(self):
        self.client.get("/work")
        value = 1
        for _ in range(200_000):
            value = (value * 1_103_515_245 + 12_345) & 0x7FFF_FFFF

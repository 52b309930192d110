"""Checks certificates, also with FastHttpUser and LeanHttpUser, which accept any by default."""

# mypy: ignore-errors

from clients import Base
from locust import between, task


class Strict(Base):
    wait_time = between(0.05, 0.15)
    insecure = False

    @task
    def work(self):
        self.client.get("/work")

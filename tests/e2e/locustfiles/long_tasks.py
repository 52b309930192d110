"""Tasks that take longer than a level: sixty requests with sleeps inside, by both clients."""

# mypy: ignore-errors

import time

import gevent
from locust import FastHttpUser, HttpUser, task


class Fast(FastHttpUser):
    @task
    def visit(self):
        for _ in range(60):
            self.client.get("/work")
            time.sleep(0.4)


class Plain(HttpUser):
    @task
    def visit(self):
        for _ in range(60):
            self.client.get("/work")
            gevent.sleep(0.4)

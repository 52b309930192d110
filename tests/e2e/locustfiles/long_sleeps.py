"""Users that make one request and then sleep for longer than a level."""

# mypy: ignore-errors

import time

from locust import FastHttpUser, task


class Sleeper(FastHttpUser):
    @task
    def visit(self):
        self.client.get("/work")
        time.sleep(60)

"""Users who increment a shared counter and read it back: what was acknowledged before a read must be in what it reads.

A read may be ahead of what is known here (increments on their way, other generators), never behind it, unless updates got lost.
So a counter that loses none is never accused; losses may hide behind increments on their way, and show in the reads that follow.
"""

from __future__ import annotations

from collections import Counter

from locust import FastHttpUser, between, task

acknowledged: Counter[str] = Counter()
"""Increments that the service has confirmed, by its instance: one that restarts begins at zero."""


class CountingUser(FastHttpUser):
    """Nine increments for each read."""

    wait_time = between(0.05, 0.15)

    @task(9)
    def increment(self) -> None:
        with self.client.post("/increment", catch_response=True) as response:
            if response.status_code == 200:
                reported = response.json()
                acknowledged[reported["instance"]] += reported["added"]

    @task(1)
    def read_back(self) -> None:
        expected = acknowledged.copy()
        with self.client.get("/counter", catch_response=True) as response:
            if response.status_code != 200:
                return
            reported = response.json()
            least, read = expected[reported["instance"]], reported["counter"]
            if read < least:
                response.failure(f"lost_updates: expected {least}, read {read}")

"""Users of Redis, each with a connection of its own.

`COMMAND="GET key" capexplorer run redis --host 127.0.0.1:6379`; REDIS_PASSWORD if it has one.
"""

import os

import redis
from locust import User, between, task
from redis.backoff import NoBackoff
from redis.retry import Retry

WAIT_S = float(os.environ.get("WAIT_S", "0.4"))
COMMAND = os.environ.get("COMMAND", "PING").split()


class RedisUser(User):
    wait_time = between(0.5 * WAIT_S, 1.5 * WAIT_S)

    def on_start(self) -> None:
        host, _, port = (self.host or "").rpartition("//")[2].partition(":")
        # without its own repetitions, which would hide failures and add load
        self.client = redis.Redis(
            host, int(port or 6379), password=os.environ.get("REDIS_PASSWORD"), socket_timeout=5, retry=Retry(NoBackoff(), 0)
        )

    @task
    def command(self) -> None:
        self.execute(*COMMAND)

    def execute(self, *words: str) -> None:
        """One request, named after its command."""
        with self.environment.events.request.measure("Redis", words[0]):
            self.client.execute_command(*words)

    def on_stop(self) -> None:
        self.client.close()

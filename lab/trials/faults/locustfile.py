"""Users of rows that need more than a task of a profile. FAULT_USERS names the class, FAULT_CLIENT its client."""

# mypy: ignore-errors

import ctypes
import itertools
import os
import time

from locust import FastHttpUser, HttpUser, between, constant, task

from capexplorer.users import LeanHttpUser

usleep = ctypes.CDLL(None).usleep
starts, turns, replies = itertools.count(), itertools.count(), []


class Blocking:
    """Tasks that block gevent's loop: they wait in a C library, which gevent cannot patch."""

    wait_time = constant(0.1)

    @task
    def work(self):
        self.client.get("/work")
        usleep(25_000)


class BrokenStart:
    """Some users fail before their first task."""

    wait_time = between(0.05, 0.15)

    def on_start(self):
        if next(starts) < 3:
            raise RuntimeError("no account left")

    @task
    def work(self):
        self.client.get("/work")


class BrokenTask:
    """A mistake in a task, one time in three."""

    wait_time = between(0.05, 0.15)

    @task
    def work(self):
        self.client.get("/work")
        if next(turns) % 3 == 0:
            {}["token"]


class Checks:
    """Fails requests by the body of their replies, which names a check and its result: `lost_updates: expected 41, read 40`."""

    wait_time = between(0.05, 0.15)

    @task
    def work(self):
        with self.client.get("/work", catch_response=True) as response:
            if response.text not in ("ok", None):
                response.failure(response.text)


class Costly:
    """Tasks that compute, such as signing, parsing or compressing."""

    wait_time = constant(0.1)

    @task
    def work(self):
        self.client.get("/work")
        value = 1
        for _ in range(200_000):
            value = (value * 1_103_515_245 + 12_345) & 0x7FFF_FFFF


class Deadline:
    """Polls for a result that never comes, until a deadline."""

    wait_time = constant(0.1)

    @task
    def poll(self):
        deadline_s = time.monotonic() + 1
        while time.monotonic() < deadline_s:
            self.client.get("/status")
            time.sleep(0.2)
        with self.client.get("/status", catch_response=True) as response:
            response.failure("task_timeout: not finished after 1 s")


class Elsewhere:
    """Sends requests to a host that is not allowed."""

    wait_time = between(0.05, 0.15)

    @task
    def work(self):
        self.client.get("http://10.9.9.9/work", name="/work")


class Hoarding:
    """Keeps each reply and 40 KB in memory."""

    wait_time = between(0.05, 0.15)

    @task
    def work(self):
        replies.append((self.client.get("/work").text, b"x" * 40_000))


class StrictTls:
    """Checks certificates, also with FastHttpUser and LeanHttpUser, which accept any by default."""

    wait_time = between(0.05, 0.15)
    insecure = False

    @task
    def work(self):
        self.client.get("/work")


BASE = {"fast": FastHttpUser, "requests": HttpUser, "lean": LeanHttpUser}[os.environ["FAULT_CLIENT"]]
Chosen = type(BASE)(
    os.environ["FAULT_USERS"],
    (BASE,),
    {
        name: value
        for name, value in vars(globals()[os.environ["FAULT_USERS"]]).items()
        if name not in ("__dict__", "__weakref__")
    },
)

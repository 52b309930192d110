"""A worker's request for its job, over a connection used only for that. In the load thread."""

from __future__ import annotations

import time
from uuid import uuid4

import gevent
from locust.rpc import Message, zmqrpc

from ...errors import InputError
from . import job as jobs
from .job import Job, WorkerHello
from .message_kinds import HELLO, JOB, REFUSED

ASK_EVERY_S = 2.0
"""Time to wait for an answer before asking again: the run may start later than its workers."""


def ask(host: str, port: int, hello: WorkerHello, within_s: float) -> Job:
    """The job. Raises InputError if the run refuses this worker, or does not answer in time (there is no run, or secrets
    differ).
    """
    client = zmqrpc.Client(host, port, f"{hello.host}_{uuid4().hex}")  # type: ignore[no-untyped-call]
    deadline_s = time.monotonic() + within_s
    try:
        while (left_s := deadline_s - time.monotonic()) > 0:
            client.send(Message(HELLO, jobs.encode(hello), ""))  # type: ignore[no-untyped-call]
            with gevent.Timeout(min(left_s, ASK_EVERY_S), False):
                answer = client.recv()  # type: ignore[no-untyped-call]
                if answer.type == REFUSED:
                    raise InputError(f"the run at {host}:{port} refuses this worker: {answer.data}")
                if answer.type == JOB:
                    return jobs.decode(answer.data, Job)
    finally:
        client.close(linger=0)  # type: ignore[no-untyped-call]
    raise InputError(f"no answer of a run at {host}:{port} in {within_s:g} s: is it there, with the same secret and --bind?")

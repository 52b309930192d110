"""Clients of the task queue that hand in five http-fetch for each factorial."""

from taskqueue_client import TaskClient


class Client(TaskClient):
    """See taskqueue_client.py."""

    kinds = {"http-fetch": 5, "factorial": 1}

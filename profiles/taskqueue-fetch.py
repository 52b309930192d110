"""Clients of the task queue that hand in tasks that wait for a page."""

from taskqueue_client import TaskClient


class FetchClient(TaskClient):
    """See taskqueue_client.py."""

    kinds = {"http-fetch": 1}

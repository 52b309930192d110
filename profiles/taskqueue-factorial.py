"""Clients of the task queue that hand in tasks that compute."""

from taskqueue_client import TaskClient


class FactorialClient(TaskClient):
    """See taskqueue_client.py."""

    kinds = {"factorial": 1}

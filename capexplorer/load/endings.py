"""How a request or a task ends by an exception."""

from __future__ import annotations

from locust.exception import InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopTest, StopUser
from requests.exceptions import RequestException

LEAVING = (InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopTest, StopUser)
"""Exceptions by which user code ends a task early; they are no failures."""


class UnusableReply(RequestException):
    """A reply led to an exception that its client does not expect. `args`: that exception. All clients report it as a failure."""

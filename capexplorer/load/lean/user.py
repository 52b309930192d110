"""LeanHttpUser: a Locust user with the lean client."""

from __future__ import annotations

from typing import Any

from locust import User
from locust.exception import StopTest
from locust.user.users import RestMixin

from .session import LeanSession


class LeanHttpUser(User, RestMixin[Any]):
    """A base class for locustfiles in place of FastHttpUser or HttpUser; `self.client` is a LeanSession."""

    abstract = True

    client: LeanSession
    insecure: bool = True
    """Whether any TLS certificate is accepted, as with FastHttpUser."""
    connection_timeout: float = 60.0
    """Seconds to connect, TLS handshake included."""
    network_timeout: float = 60.0
    """Seconds for a whole request with its body."""
    keeps_cookies: bool = False
    """Whether cookies that replies set are sent back."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        if self.host is None:
            raise StopTest("You must specify the base host: in `host` of the User class, or with --host.")
        self.client = LeanSession(
            self.host,
            self,
            insecure=self.insecure,
            connection_timeout=self.connection_timeout,
            timeout=self.network_timeout,
            keeps_cookies=self.keeps_cookies,
        )

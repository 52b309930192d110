"""LeanHttpUser: a Locust user with the lean client."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from locust import User
from locust.exception import StopTest
from locust.user.users import RestMixin

from ...errors import InputError
from .prepared import REMEDIES
from .session import REDIRECTS_MOST, LeanSession


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
    max_redirects: int = REDIRECTS_MOST
    default_headers: Mapping[str, Any] | None = None
    """Headers of all requests."""
    concurrency: int = 10
    """Most connections of a user to one server; further requests of its greenlets wait."""
    client_pool: Any = None
    """A HTTPClientPool of geventhttpclient: users with the same object share their connections, as many as it says."""
    ssl_context_factory: Callable[[], Any] | None = None
    keeps_cookies: bool = True
    """Whether cookies that replies set are sent back."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        if self.host is None:
            raise StopTest("You must specify the base host: in `host` of the User class, or with --host.")
        self.client = LeanSession(
            self.host,
            environment.events.request,
            self,
            insecure=self.insecure,
            connection_timeout=self.connection_timeout,
            network_timeout=self.network_timeout,
            max_redirects=self.max_redirects,
            headers=self.default_headers,
            concurrency=self.concurrency,
            client_pool=self.client_pool,
            ssl_context_factory=self.ssl_context_factory,
            keeps_cookies=self.keeps_cookies,
        )


def check(kind: type[User], where: str) -> None:
    """Raises InputError if a subclass of LeanHttpUser sets an attribute of FastHttpUser or HttpUser that has no effect here.

    `where`: the file that it is in.
    """
    for name, remedy in REMEDIES.items():
        if issubclass(kind, LeanHttpUser) and getattr(kind, name, None):
            raise InputError(f"{where}:{_line(kind)}: {kind.__name__}: LeanHttpUser does not take `{name}`, {remedy}")


def _line(kind: type) -> int:
    try:
        return inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):  # made by code
        return 1

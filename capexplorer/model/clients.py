"""Which client classes made a session's requests, by Locust's names. Only this module knows how older logs record it."""

from __future__ import annotations

from .events import Header

_BY_SETTING = {"fast": "FastHttpUser", "requests": "HttpUser", "lean": "LeanHttpUser"}
"""Value of a profile's `users.client` -> client class."""


def clients_of(header: Header) -> tuple[str, ...]:
    """The client classes, sorted, such as `("FastHttpUser",)`; empty if the log does not name them (imported tables).

    An older log without `clients` has the measured overhead of exactly the HTTP clients in use. Without that, the profile's
    setting counts, unless the users came from a locustfile, which never followed it.
    """
    if header.clients:
        return header.clients
    if header.client_overhead_ms:
        return tuple(sorted(header.client_overhead_ms))
    users = header.profile.get("users")
    setting = users.get("client") if isinstance(users, dict) else None
    has_locustfile = isinstance(users, dict) and bool(users.get("locustfile"))
    return (_BY_SETTING[setting],) if setting in _BY_SETTING and not has_locustfile else ()

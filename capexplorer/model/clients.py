"""Which client classes made a session's requests, by Locust's names. The only place that knows how older logs record it."""

from __future__ import annotations

from .events import Header

_BY_SETTING = {"fast": "FastHttpUser", "requests": "HttpUser", "lean": "LeanHttpUser"}
"""A profile's `users.client`."""


def clients_of(header: Header) -> tuple[str, ...]:
    """`("FastHttpUser",)`, sorted; empty if the log does not say (imported tables).

    A log without `clients` has a measured overhead of just the HTTP clients in use. Its profile's setting comes last: a
    locustfile's users never followed it.
    """
    if header.clients:
        return header.clients
    if header.client_overhead_ms:
        return tuple(sorted(header.client_overhead_ms))
    users = header.profile.get("users")
    setting = users.get("client") if isinstance(users, dict) else None
    has_locustfile = isinstance(users, dict) and bool(users.get("locustfile"))
    return (_BY_SETTING[setting],) if setting in _BY_SETTING and not has_locustfile else ()

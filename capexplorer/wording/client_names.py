"""Names of the client classes of users."""

from __future__ import annotations

from collections.abc import Collection

CLIENTS = {"FastHttpUser": "fast (FastHttpUser)", "HttpUser": "requests (HttpUser)", "LeanHttpUser": "lean (LeanHttpUser)"}
"""Client classes -> the value of `client` in a profile."""


def clients(names: Collection[str]) -> str:
    """`fast (FastHttpUser) + other (User)`; empty if no name is known."""
    return " + ".join(CLIENTS.get(each, f"other ({each})") for each in names)

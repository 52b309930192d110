"""Loopback addresses, the only ones that receive load unless a host is allowed by name, and well-formed URLs."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from urllib.parse import urlsplit

_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}

LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", ""})

NOT_ALLOWED = "is not allowed (only loopback, or --allow-host"
"""Words of an exception by which a connection is refused: a library may keep nothing else of it."""


@lru_cache(maxsize=1024)  # each connection asks
def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine's loopback."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or bool(mapped and mapped.is_loopback)


def is_host_and_port(text: str) -> bool:
    """Whether it is exactly `HOST:PORT`, as used by users that open sockets themselves."""
    try:
        parts = urlsplit(f"//{text}")
        return text.isprintable() and parts.netloc == text and "@" not in text and bool(parts.hostname) and bool(parts.port)
    except ValueError:
        return False


def host_and_port(text: str) -> tuple[str, int] | None:
    """(host without brackets, port) of `HOST:PORT`; None if the text has another form or an invalid port."""
    host, _, port = text.rpartition(":")
    if not host or not text.isprintable() or not port.isdecimal() or not 0 < int(port) < 65_536:
        return None
    return host.strip("[]"), int(port)


_HOST_AND_PORT = re.compile(r"[^/]*//(?:\[[^]]*\]|[^@:/?#\s]+)(?::\d*)?[/?#]")


def is_same_service(one: str, other: str) -> bool:
    """Whether both URLs name one service; all loopback names count as one host."""
    parts, others = urlsplit(one), urlsplit(other)
    is_one_host = parts.hostname == others.hostname or (is_loopback(parts.hostname or "") and is_loopback(others.hostname or ""))
    return is_one_host and (parts.scheme, port_of(one)) == (others.scheme, port_of(other))


def port_of(url: str) -> int | None:
    """The port of a URL, also where only its scheme says so; None: unknown."""
    parts = urlsplit(url)
    return parts.port or _PORTS.get(parts.scheme)


def without_userinfo(url: str) -> str:
    """`http://user:password@host` as `http://***@host`, to be shown; also where it is no valid URL.

    An @ after a complete host belongs to the path. Otherwise everything up to the last @ is removed: a password may contain / or
    @.
    """
    return url if _HOST_AND_PORT.match(url) else re.sub(r"//.*@", "//***@", url, flags=re.DOTALL)


def is_http_url(url: str) -> bool:
    """Whether it is http(s) with a host, and a port that can be one."""
    return url.startswith(("http:", "https:")) and is_url(url)


def is_url(url: str) -> bool:
    """Whether it has a scheme (`ws`, `redis`, `grpc`), a host, a port that can be one, and no half a character."""
    try:
        parts = urlsplit(url)
        return url.isprintable() and bool(parts.scheme) and "://" in url and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, or half an IPv6 address
        return False

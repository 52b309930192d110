"""A shared secret for the port of a run: ZeroMQ's CURVE, with the server's key pair derived from the secret.

A stranger cannot complete the handshake without the server's public key, which is derived from the secret and never sent, and
no other process can answer in the server's place. Messages are encrypted. A process that has the secret is trusted fully.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import zmq
from zmq.utils import z85

VARIABLE = "CAPEXPLORER_SECRET"
"""The environment variable with the secret, since command lines are visible to all users of a machine."""


def with_keys(init: Callable[..., None], secret: str) -> Callable[..., None]:
    """Locust's sockets use this secret."""
    server_secret, server_public = _key_pair(secret)

    def init_with_keys(self: Any, sock_type: int, ipv4_only: bool) -> None:
        init(self, sock_type, ipv4_only)
        if sock_type == zmq.ROUTER:
            self.socket.curve_secretkey, self.socket.curve_publickey = server_secret, server_public
            self.socket.curve_server = True
        else:
            self.socket.curve_publickey, self.socket.curve_secretkey = zmq.curve_keypair()
            self.socket.curve_serverkey = server_public

    return init_with_keys


def _key_pair(secret: str) -> tuple[bytes, bytes]:
    """(secret, public) key, Z85."""
    seed = hashlib.scrypt(secret.encode(), salt=b"capexplorer workers", n=2**14, r=8, p=1, dklen=32)
    encoded: bytes = z85.encode(seed)
    return encoded, zmq.curve_public(encoded)

"""The target's port: free, and out of reach of clients' ephemeral ports."""

from __future__ import annotations

import socket

from capexplorer.target.place import ephemeral_range, free_port, port_is_free


def test_a_free_port_can_be_bound_and_is_not_ephemeral() -> None:
    low, high = ephemeral_range()
    port = free_port()
    assert not low <= port <= high
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))


def test_a_port_that_is_bound_is_not_free() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert not port_is_free(port)
    assert port_is_free(port)

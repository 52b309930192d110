"""A link with a round trip of 200 ms and 1% loss, as SSH's ProxyCommand: `python slow_link.py HOST PORT`. Standard library.

For kernels without netem. Over TCP a lost packet is only a delay: the data comes later by the time until TCP sends it again,
and all later data waits for it.
"""

from __future__ import annotations

import os
import queue
import random
import socket
import sys
import threading
import time
from collections.abc import Callable

ONE_WAY_S = 0.1
LOST_RATIO = 0.01
RETRANSMISSION_S = 0.4
"""Linux' smallest retransmission timeout (200 ms) and one round trip."""


def carry(read: Callable[[], bytes], write: Callable[[bytes], object], end: Callable[[], object]) -> threading.Thread:
    """Forward data in one direction, delayed and in order; `end` is called at its end. Returns the thread that writes."""
    pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def receive() -> None:
        piece = b"-"
        while piece:
            piece = read()
            delay_s = RETRANSMISSION_S if random.random() < LOST_RATIO else 0.0
            pieces.put((time.monotonic() + ONE_WAY_S + delay_s, piece))

    def send() -> None:
        while True:
            due_s, piece = pieces.get()
            time.sleep(max(0.0, due_s - time.monotonic()))
            if not piece:
                end()
                return
            write(piece)

    threading.Thread(target=receive, daemon=True).start()
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    return sender


def main() -> None:
    """Forward both directions until the server closes the connection."""
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as server:
        carry(lambda: os.read(0, 1 << 16), server.sendall, lambda: server.shutdown(socket.SHUT_WR))
        carry(lambda: server.recv(1 << 16), lambda piece: os.write(1, piece), lambda: None).join()


if __name__ == "__main__":
    main()

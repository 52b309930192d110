"""A link of 200 ms there and back with 1% loss, as SSH's ProxyCommand: `python slow_link.py HOST PORT`. Standard library.

For kernels without netem. TCP hides a lost packet but for its time: a piece of data comes as much later as TCP takes to send it
again, and all that follow wait for it.
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
LOST = 0.01
AGAIN_S = 0.4
"""Linux' least retransmission timeout, beside one round trip."""


def carry(read: Callable[[], bytes], write: Callable[[bytes], object], end: Callable[[], object]) -> threading.Thread:
    """Data of one direction, each piece later and in order; the thread that writes it."""
    pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def take() -> None:
        piece = b"-"
        while piece:
            piece = read()
            lost = AGAIN_S if random.random() < LOST else 0.0
            pieces.put((time.monotonic() + ONE_WAY_S + lost, piece))

    def give() -> None:
        while True:
            due_s, piece = pieces.get()
            time.sleep(max(0.0, due_s - time.monotonic()))
            if not piece:
                end()
                return
            write(piece)

    threading.Thread(target=take, daemon=True).start()
    giver = threading.Thread(target=give, daemon=True)
    giver.start()
    return giver


def main() -> None:
    """Until the server closes."""
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as server:
        carry(lambda: os.read(0, 1 << 16), server.sendall, lambda: server.shutdown(socket.SHUT_WR))
        carry(lambda: server.recv(1 << 16), lambda piece: os.write(1, piece), lambda: None).join()


if __name__ == "__main__":
    main()

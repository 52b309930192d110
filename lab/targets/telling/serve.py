"""A pool with its metrics, beside metrics that have nothing to do with it, and a log."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import Counter, Gauge, Histogram, generate_latest

CONNECTIONS, WORK_S = int(os.environ["CONNECTIONS"]), float(os.environ["WORK_S"])
LATE_S, GIVE_UP_S = 0.1, 0.5

WAITING = Gauge("pool_waiting", "Requests that wait for a connection")
IN_USE = Gauge("pool_in_use", "Connections that are taken")
WAIT = Histogram("pool_wait_seconds", "Time until a request has a connection")
TIMEOUTS = Counter("pool_timeouts", "Requests that got no connection")
REQUESTS = Counter("requests", "By status", ["status"])
ENTRIES = Gauge("cache_entries", "They grow with time")
MOOD = Gauge("mood", "A random walk")
TICKS = Counter("ticks", "One every 100 ms")

free = threading.Semaphore(CONNECTIONS)
log = logging.getLogger("telling")


def use_pool() -> None:
    """Raises TimeoutError."""
    began_s = time.monotonic()
    WAITING.inc()
    try:
        has_one = free.acquire(timeout=GIVE_UP_S)
    finally:
        WAITING.dec()
    waited_s = time.monotonic() - began_s
    WAIT.observe(waited_s)
    if not has_one:
        TIMEOUTS.inc()
        raise TimeoutError(f"no connection of {CONNECTIONS} within {GIVE_UP_S} s")
    if waited_s > LATE_S:
        log.warning("request %x waited %.0f ms for a connection", random.getrandbits(48), 1000 * waited_s)
    IN_USE.inc()
    time.sleep(WORK_S)
    IN_USE.dec()
    free.release()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body, status = b"ok\n", 200
        if self.path == "/metrics":
            body = generate_latest()
        elif self.path == "/work":
            try:
                use_pool()
            except TimeoutError:
                log.exception("request failed")
                body, status = b"no connection\n", 503
            REQUESTS.labels(str(status)).inc()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the library gives it
        pass


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 1024


def beat() -> None:
    """What has nothing to do with the load."""
    began_s, value = time.monotonic(), 100.0
    while True:
        value += random.gauss(0, 1)
        MOOD.set(value)
        ENTRIES.set(1000 * (1 - 0.99 ** (time.monotonic() - began_s)))
        TICKS.inc()
        if random.random() < 0.02:
            log.info("checkpoint %d written", random.randrange(10**6))
        time.sleep(0.1)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    threading.Thread(target=beat, daemon=True).start()
    Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()


if __name__ == "__main__":
    main()

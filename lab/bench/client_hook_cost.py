"""CPU cost of the hooks in HTTP clients while no request fails: they see retries, closed connections and truncated headers.

CPU time of one user's requests to the null responder, with and without hooks, alternating, each in a process of its own; the
minimum of each, since other processes can only add time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from . import rig

PAIRS = int(os.environ.get("PAIRS", "5"))
REQUESTS = {"FastHttpUser": 10_000, "HttpUser": 2_000}
MOST_RATIO = 1.02


def main() -> None:
    port = rig.free_port()
    with rig.running([sys.executable, "-m", "capexplorer.load.null_responder", str(port)], port):
        for client, requests in REQUESTS.items():
            pairs = [(_cpu_us(client, requests, port, "off"), _cpu_us(client, requests, port, "on")) for _ in range(PAIRS)]
            without, hooked = (min(pair[side] for pair in pairs) for side in (0, 1))
            ratio = hooked / without
            print(f"{client:>12}: {without:6.1f} us a request without, {hooked:6.1f} with: {ratio:.3f} (at most {MOST_RATIO})")


def _cpu_us(client: str, requests: int, port: int, hooks: str) -> float:
    command = [sys.executable, "-m", "lab.bench.client_hook_cost", client, str(requests), str(port), hooks]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def measure(client: str, requests: int, port: int, hooks: str) -> float:
    """CPU time of a request in microseconds, including the recorder."""
    import locust
    from locust.env import Environment

    from capexplorer.load import attempts, connections, keep_alive, truncated
    from capexplorer.load.recorder import Recorder

    for each in (connections, keep_alive, attempts, truncated) if hooks == "on" else ():
        each.install()
    environment, recorder = Environment(user_classes=[]), Recorder()
    environment.events.request.add_listener(recorder.on_request)  # type: ignore[no-untyped-call]
    kind = type("User", (getattr(locust, client),), {"host": f"http://127.0.0.1:{port}", "abstract": False})
    user = kind(environment)
    for _ in range(requests // 10):
        user.client.get("/")
    started_s = time.process_time()
    for _ in range(requests):
        user.client.get("/")
    spent_s = time.process_time() - started_s
    assert sum(tick.failures + tick.warmup_failures for tick in recorder.drain().endpoints) == 0
    return spent_s / requests * 1e6


if __name__ == "__main__":
    print(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))

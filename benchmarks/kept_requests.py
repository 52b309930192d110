"""What keeping whole requests costs each request: the recorder with the sample over the recorder without it.

CPU time of the recorder's listener alone, in turns of 1,000 calls with and without, the least of each, since neighbours only
add; held against a request of the lean client, the cheapest there is. What is read once a second is timed apart.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable

from . import rig

TURNS, CALLS = 200, 1_000
REQUESTS, REPEATS = 20_000, 3
MOST = 0.02
READS = 50


def main() -> None:
    command = [sys.executable, "-m", "benchmarks.kept_requests"]
    port = rig.free_port()
    with rig.running([sys.executable, "-m", "capexplorer.load.null_responder", str(port)], port):
        done = subprocess.run([*command, str(port)], check=True, capture_output=True, text=True, timeout=300)
    without_us, keeping_us, failing_us, failing_kept_us, request_us = map(float, done.stdout.split())
    share = (keeping_us - without_us) / request_us
    print(
        f"the recorder: {without_us:.2f} us a request without, {keeping_us:.2f} with; a request of the lean client takes ", end=""
    )
    print(f"{request_us:.1f} us: {share:.1%} of it (at most {MOST:.0%})")
    print(f"of a request that failed: {failing_us:.1f} us without, {failing_kept_us:.1f} with")
    print(f"to read and clean one with 4 KiB of JSON: {read_ms():.2f} ms")


def measure(port: int) -> list[float]:
    """CPU time in microseconds: the listener without and with the sample, the same for failures, and a whole request."""
    from locust.contrib.fasthttp import LocustBadStatusCode
    from locust.env import Environment

    from capexplorer.load.kept.request_sampling import RequestSampling
    from capexplorer.load.lean.user import LeanHttpUser
    from capexplorer.load.recorder import Recorder
    from capexplorer.session.redact_request import RequestRedaction

    environment = Environment(user_classes=[])
    user = type("User", (LeanHttpUser,), {"host": f"http://127.0.0.1:{port}", "abstract": False})(environment)
    response = user.client.get("/")
    error = LocustBadStatusCode("http://127.0.0.1/", code=503)
    draw = random.Random(5)

    def listener(exception: Exception | None, *, keeps: bool) -> Callable[[], float]:
        recorder = Recorder()
        if keeps:
            recorder.sampling = RequestSampling(RequestRedaction())
            recorder.begin_level(0)

        def turn() -> float:
            times_ms = [draw.lognormvariate(3, 0.5) for _ in range(CALLS)]
            began_s, called_s = time.time(), time.process_time()
            for response_ms in times_ms:
                recorder.on_request("GET", "/", response_ms, 2, exception, response, began_s, "http://127.0.0.1/")
            spent_s = time.process_time() - called_s
            recorder.drain()
            return spent_s / CALLS * 1e6

        return turn

    turns = [listener(exception, keeps=keeps) for exception in (None, error) for keeps in (False, True)]
    least = [min(times) for times in zip(*([turn() for turn in turns] for _ in range(TURNS)), strict=True)]
    return [*least, min(_request_us(user) for _ in range(REPEATS))]


def _request_us(user: object) -> float:
    began_s = time.process_time()
    for _ in range(REQUESTS):
        user.client.get("/")  # type: ignore[attr-defined]
    return (time.process_time() - began_s) / REQUESTS * 1e6


def read_ms() -> float:
    """CPU time of reading one kept request."""
    from capexplorer.model.kept_request import Body, KeptRequest, RequestBrief
    from capexplorer.session.redact_request import RequestRedaction

    text = json.dumps([{"id": number, "name": f"item {number}", "token": "abc"} for number in range(200)])[:4096]
    received, clean = Body(text=text, size_bytes=9_000, is_cut=True), RequestRedaction()
    request = KeptRequest(brief=RequestBrief(), received=received)
    began_s = time.process_time()
    for _ in range(READS):
        clean(request)
    return (time.process_time() - began_s) / READS * 1000


if __name__ == "__main__":
    print(*measure(int(sys.argv[1])))

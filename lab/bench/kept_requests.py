"""The CPU cost, per request, of keeping a sample of whole requests.

CPU time of the recorder's listener alone, in alternating batches of 1,000 calls with and without the sample; the minimum of each,
since other processes can only add time. It is compared with a request of the lean client, the cheapest client. Cleaning a kept
request, which happens once a second, is timed separately.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable

from . import rig

BATCHES, CALLS = 200, 1_000
REQUESTS, REPEATS = 20_000, 3
MOST_RATIO = 0.02
CLEANED = 50


def main() -> None:
    command = [sys.executable, "-m", "lab.bench.kept_requests"]
    port = rig.free_port()
    with rig.running([sys.executable, "-m", "capexplorer.load.null_responder", str(port)], port):
        done = subprocess.run([*command, str(port)], check=True, capture_output=True, text=True, timeout=300)
    without_us, keeping_us, failing_us, failing_kept_us, request_us = map(float, done.stdout.split())
    share = (keeping_us - without_us) / request_us
    print(
        f"the recorder: {without_us:.2f} us per request without, {keeping_us:.2f} with; a request of the lean client takes ",
        end="",
    )
    print(f"{request_us:.1f} us: the difference is {share:.1%} of it (at most {MOST_RATIO:.0%})")
    print(f"for a request that failed: {failing_us:.1f} us without, {failing_kept_us:.1f} with")
    print(f"to clean a kept request with 4 KiB of JSON: {clean_ms():.2f} ms")


def measure(port: int) -> list[float]:
    """CPU time in microseconds: the listener without and with the sample, the same for failures, and a whole request."""
    from locust.contrib.fasthttp import LocustBadStatusCode
    from locust.env import Environment

    from capexplorer.load.kept.request_sampling import RequestSampling
    from capexplorer.load.lean.user import LeanHttpUser
    from capexplorer.load.recorder import Recorder
    from capexplorer.session.redact_request import without_secrets

    environment = Environment(user_classes=[])
    user = type("User", (LeanHttpUser,), {"host": f"http://127.0.0.1:{port}", "abstract": False})(environment)
    response = user.client.get("/")
    error = LocustBadStatusCode("http://127.0.0.1/", code=503)
    draw = random.Random(5)

    def listener(exception: Exception | None, *, keeps: bool) -> Callable[[], float]:
        recorder = Recorder()
        if keeps:
            recorder.sampling = RequestSampling(without_secrets)
            recorder.begin_level(0)

        def batch_us() -> float:
            times_ms = [draw.lognormvariate(3, 0.5) for _ in range(CALLS)]
            began_s, called_s = time.time(), time.process_time()
            for response_ms in times_ms:
                recorder.on_request("GET", "/", response_ms, 2, exception, response, began_s, "http://127.0.0.1/")
            spent_s = time.process_time() - called_s
            recorder.drain()
            return spent_s / CALLS * 1e6

        return batch_us

    batches = [listener(exception, keeps=keeps) for exception in (None, error) for keeps in (False, True)]
    least = [min(times) for times in zip(*([batch_us() for batch_us in batches] for _ in range(BATCHES)), strict=True)]
    return [*least, min(_request_us(user) for _ in range(REPEATS))]


def _request_us(user: object) -> float:
    began_s = time.process_time()
    for _ in range(REQUESTS):
        user.client.get("/")  # type: ignore[attr-defined]
    return (time.process_time() - began_s) / REQUESTS * 1e6


def clean_ms() -> float:
    """CPU time of removing secrets from one kept request."""
    from capexplorer.model.kept_request import Body, KeptRequest, RequestBrief
    from capexplorer.session.redact_request import without_secrets

    text = json.dumps([{"id": number, "name": f"item {number}", "token": "abc"} for number in range(200)])[:4096]
    received = Body(text=text, size_bytes=9_000, is_cut=True)
    request = KeptRequest(brief=RequestBrief(), received=received)
    began_s = time.process_time()
    for _ in range(CLEANED):
        without_secrets(request)
    return (time.process_time() - began_s) / CLEANED * 1000


if __name__ == "__main__":
    print(*measure(int(sys.argv[1])))

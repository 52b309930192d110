"""What keeping whole requests costs each request: the recorder with the sample over the recorder without it.

CPU time of the lean client, whose requests are the cheapest, to the null responder, taken in turn in processes of their own;
the least of each, since neighbours only add. What is read once a second is timed apart, with bodies of 4 KiB of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from . import rig

PAIRS = int(os.environ.get("PAIRS", "5"))
REQUESTS = {"lean": 20_000, "fast": 5_000}
MOST = 1.02
READS = 50


def main() -> None:
    port = rig.free_port()
    with rig.running([sys.executable, "-m", "capexplorer.load.null_responder", str(port)], port):
        for client, requests in REQUESTS.items():
            pairs = [[_asked(client, requests, port, side) for side in ("off", "on")] for _ in range(PAIRS)]
            without, keeping = (min(pair[side] for pair in pairs) for side in (0, 1))
            print(f"{client:>5}: {without:6.2f} us a request without, {keeping:6.2f} with: ", end="")
            print(f"{keeping / without:.3f} (at most {MOST})")
    print(f"to read and clean one request with 4 KiB of JSON: {read_ms():.2f} ms")


def _asked(client: str, requests: int, port: int, side: str) -> float:
    command = [sys.executable, "-m", "benchmarks.kept_requests", client, str(requests), str(port), side]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def measure(client: str, requests: int, port: int, side: str) -> float:
    """CPU time of a request in microseconds, the recorder's part included."""
    import locust
    from locust.env import Environment

    from capexplorer.load.kept.sampling import RequestSampling
    from capexplorer.load.lean.user import LeanHttpUser
    from capexplorer.load.recorder import Recorder
    from capexplorer.session.redact_request import RequestRedaction

    environment, recorder = Environment(user_classes=[]), Recorder()
    if side == "on":
        recorder.sampling = RequestSampling(RequestRedaction())
        recorder.begin_level(0)
    environment.events.request.add_listener(recorder.on_request)  # type: ignore[no-untyped-call]
    kind = LeanHttpUser if client == "lean" else locust.FastHttpUser
    user = type("User", (kind,), {"host": f"http://127.0.0.1:{port}", "abstract": False})(environment)
    for _ in range(requests // 10):
        user.client.get("/")
    recorder.drain()
    started_s = time.process_time()
    for _ in range(4):  # a drain each quarter: as often as at some thousand requests a second
        for _ in range(requests // 4):
            user.client.get("/")
        recorder.drain()
    return (time.process_time() - started_s) / requests * 1e6


def read_ms() -> float:
    """CPU time of reading one request that was taken."""
    from capexplorer.model.kept_request import Body, KeptRequest, RequestBrief
    from capexplorer.session.redact_request import RequestRedaction

    text = json.dumps([{"id": number, "name": f"item {number}", "token": "abc"} for number in range(200)])[:4096]
    request, clean = (
        KeptRequest(brief=RequestBrief(), received=Body(text=text, size_bytes=9_000, is_cut=True)),
        RequestRedaction(),
    )
    started_s = time.process_time()
    for _ in range(READS):
        clean(request)
    return (time.process_time() - started_s) / READS * 1000


if __name__ == "__main__":
    print(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))

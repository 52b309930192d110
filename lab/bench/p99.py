"""p99 of the app with its screen, divided by that of plain headless Locust, on the same fast server: 50 users wait 0.1 s between
requests of FastHttpUser.

With `WORKERS=1 python -m lab.bench p99` the users of the app run in one worker process.
"""

from __future__ import annotations

import os

from . import rig

PAIRS = int(os.environ.get("PAIRS", "5"))
WORKERS = int(os.environ.get("WORKERS", "0"))
SECONDS = 20.0
GOAL_RATIO, MOST_RATIO = 1.1, 1.3


def main() -> None:
    ratios, differences_ms = [], []
    with rig.fast_server() as (name, url):
        print(f"{name}; 50 users, 0.1 s wait, {SECONDS:.0f} s each, {PAIRS} alternating pairs, {WORKERS} workers")
        print(f"{'locust p50':>11} {'p99 ms':>8} {'app p50':>9} {'p99 ms':>8} {'p99 ratio':>10}")
        for index in range(PAIRS):
            order = ("locust", "app") if index % 2 == 0 else ("app", "locust")
            found: dict[str, tuple[float, float]] = {}
            for each in order:
                found[each] = _locust(url) if each == "locust" else _app(url)
            ratios.append(found["app"][1] / found["locust"][1])
            differences_ms.append(found["app"][1] - found["locust"][1])
            (l50, l99), (a50, a99) = found["locust"], found["app"]
            print(f"{l50:11.2f} {l99:8.2f} {a50:9.2f} {a99:8.2f} {ratios[-1]:10.2f}", flush=True)
    print(f"median ratio {rig.median(ratios):.2f} (goal {GOAL_RATIO}, at most {MOST_RATIO}); ", end="")
    print(f"median difference {rig.median(differences_ms):+.2f} ms")


def _locust(url: str) -> tuple[float, float]:
    _, latencies_ms = rig.headless_locust(url, users=50, wait_s=0.1, seconds=SECONDS)
    return rig.percentile(latencies_ms, 0.50), rig.percentile(latencies_ms, 0.99)


def _app(url: str) -> tuple[float, float]:
    histogram = rig.app(url, users=50, wait_s=0.1, seconds=SECONDS, workers=WORKERS).latency()
    p50_ms, p99_ms = histogram.percentiles_ms((0.50, 0.99))
    return p50_ms or 0.0, p99_ms or 0.0

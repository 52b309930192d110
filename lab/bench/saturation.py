"""Requests per second at saturation, FastHttpUser without waits: the app with its screen, divided by plain headless Locust."""

from __future__ import annotations

import os

from . import rig

PAIRS = int(os.environ.get("PAIRS", "5"))
SECONDS = 10.0
USERS = 50


def main() -> None:
    ratios = []
    with rig.fast_server() as (name, url):
        print(f"{name}; {USERS} users without waits, {SECONDS:.0f} s each, {PAIRS} alternating pairs")
        print(f"{'locust rps':>11} {'app rps':>9} {'ratio':>7}")
        for _ in range(PAIRS):
            locust_rps, _latencies = rig.headless_locust(url, users=USERS, wait_s=0, seconds=SECONDS)
            app_rps = rig.app(url, users=USERS, wait_s=0, seconds=SECONDS).rate_rps()
            ratios.append(app_rps / locust_rps)
            print(f"{locust_rps:11.0f} {app_rps:9.0f} {ratios[-1]:7.3f}", flush=True)
    print(f"median ratio {rig.median(ratios):.3f} (goal 0.95, at least 0.85)")

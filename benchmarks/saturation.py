"""Requests a second at saturation, FastHttpUser without waits: the app with its screen over plain headless Locust."""

from __future__ import annotations

import os

from . import rig

PAIRS = int(os.environ.get("PAIRS", "5"))
SECONDS = 10.0
USERS = 50


def main() -> None:
    ratios = []
    with rig.fast_server() as (name, url):
        print(f"{name}; {USERS} users without waits, {SECONDS:.0f} s each, {PAIRS} pairs, taken in turn")
        print(f"{'locust rps':>11} {'app rps':>9} {'ratio':>7}")
        for _ in range(PAIRS):
            theirs, _latencies = rig.headless_locust(url, users=USERS, wait_s=0, seconds=SECONDS)
            ours = rig.app(url, users=USERS, wait_s=0, seconds=SECONDS).rate_rps()
            ratios.append(ours / theirs)
            print(f"{theirs:11.0f} {ours:9.0f} {ratios[-1]:7.3f}", flush=True)
    print(f"median ratio {rig.median(ratios):.3f} (goal 0.95, at least 0.85)")

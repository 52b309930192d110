"""`make bench`: all benchmarks, or `python -m benchmarks NAME...`."""

from __future__ import annotations

import importlib
import sys

ALL = {
    "p99": "(a) p99 of the app with its screen over plain headless Locust",
    "saturation": "(b) requests a second at saturation over headless Locust",
    "paint": "(c) first paint",
    "keys": "(d) key to changed user target",
    "screen": "(e) terminal output and the screen's thread",
    "probe_cost": "(f) probes",
    "day": "a day's session: disk, opening, seeking, memory",
    "views": "(g) latency as told by the app, by the target itself and by wrk",
    "look": "what a look at 24 levels costs beside the load",
    "client_hook_cost": "what our hooks in the HTTP clients cost a request",
    "autopilot": "(autopilot) the autopilot against plain policies on simulated systems",
    "knees": "(knees) detector against kneed and a broken stick on simulated ladders",
    "moving": "(moving) false knees on simulated services that change while they are climbed",
    "neighbours": "(neighbours) knees beside other processes that come and go, on simulated services",
    "leaks": "(leaks) wrong marks on simulated healthy services, and how soon leaks are told",
}


def main() -> None:
    for name in sys.argv[1:] or ALL:
        print(f"\n== {ALL.get(name, name)}   (python -m benchmarks {name})", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()

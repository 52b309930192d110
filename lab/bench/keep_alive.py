"""Connections of 1,500 and 4,000 users with keep-alive, by client: the goal is one connection per user, which is never closed.

Users wait 10 s between requests, so that a machine with two cores keeps up; each user sends several. With so many connections
descriptors are above 1,023, which select() refuses.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from . import rig

USERS = (1_500, 4_000)
CLIENTS = ("fast", "requests", "lean")
HOLD_S = 35.0
MOST_PER_USER = 1.01
"""Most connects per user."""

PROFILE = """\
title = "kept connections"
url = "{url}"
[users]
wait_s = 10.0
spawn_rate = 150
client = "{client}"
[guards]
max_users = 5000
[[users.task]]
name = "/"
"""


def main() -> None:
    with rig.fast_server() as (name, url):
        print(f"{name}; users wait 10 s, {HOLD_S:.0f} s with all of them (connects per user at most {MOST_PER_USER})")
        print(f"{'client':>10} {'users':>6} {'requests':>9} {'connects':>9} {'per user':>8}", end="")
        print(f" {'closed by service':>18} {'by users':>9}")
        for users in USERS:
            for client in CLIENTS:
                row = _counted(url, users, client)
                print("{:>10} {:6d} {:9d} {:9d} {:8.3f} {:18d} {:9d}".format(client, users, *row), flush=True)


def _counted(url: str, users: int, client: str) -> tuple[int, int, float, int, int]:
    """(requests, connects, connects per user, closed by the service, closed by users) until the plan ends."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "kept.toml"
        profile.write_text(PROFILE.format(url=url, client=client))
        sessions = Path(folder) / "sessions"
        command = [str(rig.BIN / "capexplorer"), "run", str(profile), "--headless", "--plan", f"{users}:{HOLD_S:.0f}s"]
        subprocess.run([*command, "--sessions-dir", str(sessions)], check=False, capture_output=True, timeout=300)
        samples = rig.Run(sessions).samples
    counted = [sample for sample in samples if sample.wanted == users]  # users that end close their connections
    requests = sum(tick.requests + tick.warmup_requests for sample in counted for tick in sample.endpoints)
    connects = sum(sample.connects for sample in counted)
    closed = [sum(getattr(sample, name) or 0 for sample in counted) for name in ("closed_by_service", "closed_by_users")]
    return requests, connects, connects / users, closed[0], closed[1]

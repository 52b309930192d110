"""A machine that lies, as the transport of a watched part: `hostile_transport.py LIE` speaks the reader's protocol, and lies from
its third answer on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import capexplorer

READER = Path(capexplorer.__file__).parent / "read" / "remote_reader.py"
PROCESS = "7 (a) S 1 1 1 0 -1 0 0 0 0 0 10 10 0 0 20 0 1 0 100 0 0 " + "0 " * 30

Answer = dict[str, Any]


def honest(count: int) -> Answer:
    files = {
        "/proc/stat": f"cpu  {count * 100} 0 {count * 10} {count * 200} 0 0 0 0 0 0\n",
        "/proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 500 kB\n",
        "/proc/loadavg": "0.1 0.2 0.3 1/100 999",
        "/proc/uptime": f"{1000 + count} 1",
        "/proc/sys/kernel/hostname": "liar",
        "/proc/sys/kernel/osrelease": "6.1",
        "/proc/7/stat": PROCESS,
    }
    return {"wall": time.time(), "boot": 1000.0 + count, "cpu": 0.001 * count, "cpus": 2, "files": files, "pids": [7]}


def files(**texts: str) -> Callable[[Answer], object]:
    return lambda answer: answer["files"].update({f"/proc/{path.replace('__', '/')}": text for path, text in texts.items()})


def fields(**values: Any) -> Callable[[Answer], object]:
    return lambda answer: answer.update(values)


LIES: dict[str, Callable[[Answer], object]] = {
    "a digit that is no number in a path": lambda answer: answer["files"].update({"/proc/²/schedstat": "x"}),
    "CPU times of 5,000 digits": files(stat="cpu  " + "9" * 5000 + " 0 0 0 0 0 0 0 0 0\n"),
    "CPU times of 400 digits": files(stat="cpu  " + "9" * 400 + " 0 0 0 0 0 0 0 0 0\n"),
    "words in place of CPU times": files(stat="cpu  a b c d\n"),
    "an infinite load average": files(loadavg="inf nan inf"),
    "no base64": fields(listeners=["!!!!a"]),
    "short messages of sockets": fields(listeners=["AAAA", "/////w=="]),
    "numbers beyond 64 bits": fields(numbers={"disk_free_bytes": 2**80, "fds:7": 2**90}),
    "a clock that jumps": lambda answer: answer.update(boot=1e308 * (1 if time.time_ns() % 2 else -1)),
    "a clock that stands": fields(boot=1003.0),
    "a clock of the end of time": fields(wall=1e308),
    "a clock of 400 digits": fields(boot=10**400),
    "more CPU than there is": fields(cpus=10**18, cpu=1e308),
    "no ticks and no pages": fields(ticks=0, page=-1),
    "a process that is none": fields(pids=[-7, 7, 7]),
    "processes without ids": fields(all=["x (y) S", "² (z) S 1"]),
    "a name with half a character": files(sys__kernel__hostname="x\ud800y"),
    "a name of a megabyte": files(sys__kernel__hostname="x" * (1 << 20)),
    "a name that is a command of the terminal": files(sys__kernel__hostname="\x1b]52;c;ZXZpbA==\x07\x1b[31m\u202e"),
}
"""What each does to an answer."""


def main(lie: str) -> None:
    source = sys.stdin.buffer
    while not source.readline().startswith(b"'; else"):  # the last line that chooses a reader
        pass
    os.write(1, b"\ncapexplorer python\n")
    source.read(READER.stat().st_size)
    for count, _ in enumerate(source, 1):
        answer = honest(count)
        if count >= 3:
            LIES[lie](answer)
        text = json.dumps(answer).encode() + b"\n"
        while text:
            text = text[os.write(1, text) :]


if __name__ == "__main__":
    main(sys.argv[1])

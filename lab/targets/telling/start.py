"""Starts a service in place of this process: each request takes a connection of a pool for a time.

`python start.py python|go --port PORT --folder FOLDER --connections K --work-ms S`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("service", choices=("python", "go"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--work-ms", type=float, required=True)
    options = parser.parse_args()
    os.environ |= {
        "PORT": str(options.port),
        "CONNECTIONS": str(options.connections),
        "WORK_S": str(options.work_ms / 1000),
    }
    os.chdir(HERE)
    if options.service == "python":
        os.execv(sys.executable, [sys.executable, "-u", "serve.py"])
    options.folder.mkdir(parents=True, exist_ok=True)
    built = options.folder.resolve() / "telling"
    subprocess.run(["go", "build", "-o", str(built), "serve.go"], check=True)
    os.execv(built, [str(built)])


if __name__ == "__main__":
    main()

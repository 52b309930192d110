"""Starts the service of one runtime in place of this process: `python start.py RUNTIME --port PORT --folder FOLDER --cause CAUSE
--pool SLOTS --rate RATE`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {name.upper(): str(getattr(options, name)) for name in ("port", "cause", "pool", "rate")}
    os.chdir(HERE)
    words = {
        "python": [sys.executable, "causes.py"],
        "node": ["node", "causes.js"],
        "java": ["java", "-Dsun.net.httpserver.nodelay=true", "Causes.java"],
    }
    if options.runtime == "go":
        built = str(options.folder.resolve() / "causes")
        subprocess.run(["go", "build", "-o", built, "causes.go"], check=True)
        words["go"] = [built]
    os.execvp(words[options.runtime][0], words[options.runtime])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runtime", choices=("python", "go", "java", "node"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--cause", required=True)
    parser.add_argument("--pool", type=int, required=True)
    parser.add_argument("--rate", type=int, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Builds kv-go if it has not been built yet, and runs it in place of this process: signals and exit code are those of the binary.

`start.py -build` only builds: target.toml runs that first, with its own time limit.

Standard library only. Downloads nothing: the program needs Go and its standard library, and no module.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEAST = (1, 19)
"""atomic.Int64 needs Go 1.19, which Debian 12 has."""

NEEDED = f"kv-go: to build this target Go {LEAST[0]}.{LEAST[1]} or later is needed (https://go.dev/dl, or the package golang-go)"


def main() -> None:
    binary = built()
    if sys.argv[1:] == ["-build"]:
        return
    os.execv(binary, [str(binary), *sys.argv[1:]])


def built() -> Path:
    """Path of the binary of this source and this Go. Ends the process with one line if it cannot be built."""
    go = shutil.which("go")
    if go is None:
        sys.exit(f"{NEEDED}, and there is no `go` on PATH")
    version = _output([go, "env", "GOVERSION"]).strip()
    found = re.match(r"go(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < LEAST:
        sys.exit(f"{NEEDED}, and {go} is {version or 'older'}")
    binary = _cache() / _digest(version) / "kv-go"
    if not binary.exists():
        _build(go, binary)
    return binary


def _build(go: str, binary: Path) -> None:
    """Build the binary beside `binary` and move it there when it is complete. A lock lets only one session build at a time."""
    binary.parent.mkdir(parents=True, exist_ok=True)
    with (binary.parent / "lock").open("w") as lock, tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if binary.exists():
            return
        fresh = Path(folder) / "kv-go"
        print(f"kv-go: building with {go}", file=sys.stderr)
        _output([go, "build", "-o", str(fresh), "."])
        os.replace(fresh, binary)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, cwd=HERE, env=os.environ | _environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        sys.exit(f"kv-go: `{' '.join(command[1:3])}` failed with exit code {done.returncode}")
    return done.stdout


def _environment() -> dict[str, str]:
    own = {"GO111MODULE": "on", "GOWORK": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOPROXY": "off", "CGO_ENABLED": "0"}
    return own if "HOME" in os.environ else own | {"GOCACHE": str(_cache() / "go-build"), "GOPATH": str(_cache() / "go")}


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or (Path.home() / ".cache" if "HOME" in os.environ else tempfile.gettempdir())
    return Path(base) / "capexplorer"


def _digest(version: str) -> str:
    digest = hashlib.sha256(version.encode())
    for path in sorted([*HERE.glob("*.go"), HERE / "go.mod"]):
        digest.update(path.name.encode() + path.read_bytes())
    return "kv-go-" + digest.hexdigest()[:16]


if __name__ == "__main__":
    main()

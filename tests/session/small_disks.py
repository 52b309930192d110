"""Disks that fill up: a limit on the size of files, and a small file system for a program."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from programs import require

ROOT = Path(__file__).parents[2]
IMPORTED_FROM = os.pathsep.join((str(ROOT), str(ROOT / "tests")))


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """Within the block no file of this process can grow beyond the limit: writes end in the middle of a line, and fail with
    EFBIG."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def on_a_disk_of_512_kb(tmp_path: Path, script: str, before: str) -> list[str]:
    """Run `script` with the path of a tmpfs of 512 KB as its argument, after the shell command `before` in that folder;
    returns its lines. Skips the test without mount namespaces."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "script.py").write_text(script)
    mount = "mount -t tmpfs -o size=512k tmpfs disk || exit 77"
    shell = f"{mount}; (cd disk && {before}); exec {sys.executable} script.py {tmp_path / 'disk'}"
    require("unshare")
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", shell],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": IMPORTED_FROM},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()

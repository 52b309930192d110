"""A target of targets/ as the app starts it: by its target.toml, as real processes, in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import msgspec

from capexplorer.model.controls import Param
from capexplorer.target.place import free_port
from capexplorer.target.spec import load_spec
from lab.kit.runs import wait_until

TARGETS = Path(__file__).resolve().parents[2] / "targets"
TIMEOUT_S = 120.0


@contextmanager
def served(name: str, scratch: Path, **params: Param) -> Iterator[httpx.Client]:
    """A client of the running target, which gets SIGTERM at the end of the block and must end then."""
    spec = msgspec.structs.replace(load_spec(TARGETS / name), scratch=scratch)
    resolved, port = spec.resolve(params), free_port()
    environment = os.environ | spec.environment_for(resolved, port)
    if spec.build_step is not None:
        subprocess.run(spec.build_step.command_line(resolved, port), cwd=spec.folder, check=True)
    process = subprocess.Popen(spec.command_line(resolved, port), cwd=spec.folder, env=environment, start_new_session=True)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
            wait_until(lambda: _is_ready(client, spec.ready.path, process), "a target that is ready")
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def _is_ready(client: httpx.Client, path: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, f"ended with {process.returncode} before it was ready"
    with suppress(httpx.TransportError):
        return client.get(path).is_success
    return False

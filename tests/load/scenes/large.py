"""Very large replies to all clients, and their use of memory. The bound is 16 MB; the default takes four times the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import locust
from locust.env import Environment

from capexplorer.load.bodies import body_limit
from capexplorer.load.lean.user import LeanHttpUser
from capexplorer.load.signature import signature_of

body_limit.most_bytes = 16_000_000

PATHS = ("/bomb", "/bomb?deflate", "/bomb?br", "/endless")


def _requested(kind: type[locust.User], url: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    environment = Environment(user_classes=[])

    def on_request(name: str, response_length: int, exception: Any = None, **_: Any) -> None:
        signature = signature_of(exception) if exception else None
        found[name] = [list(signature.types[:1]), signature.text] if signature is not None else response_length

    environment.events.request.add_listener(on_request)  # type: ignore[no-untyped-call]
    user = type("Large", (kind,), {"host": url, "abstract": False})(environment)
    for path in PATHS:
        user.client.get(path, name=path)
        with user.client.get(path, name=f"{path} checked", catch_response=True) as response:
            if response.content:
                response.failure("there is a body")
    user.client.get("/huge-head", name="/huge-head")
    user.client.get("/ok", name="/ok")
    return found


def http_user(url: str) -> dict[str, Any]:
    return _requested(locust.HttpUser, url)


def fast_http_user(url: str) -> dict[str, Any]:
    return _requested(locust.FastHttpUser, url)


def lean_http_user(url: str) -> dict[str, Any]:
    return _requested(LeanHttpUser, url)


def peak_mb() -> float:
    """Of this process, after all of the above: 300 MB more without the bound."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def streamed(url: str) -> list[int]:
    """Bytes that were read in parts, which have no bound."""
    environment = Environment(user_classes=[])
    read: list[int] = []
    plain = type("Plain", (locust.HttpUser,), {"host": url, "abstract": False})(environment)
    response = plain.client.get("/endless", stream=True)
    read.append(_read_until(response.iter_content(1_000_000)))
    response.close()
    fast = type("Fast", (locust.FastHttpUser,), {"host": url, "abstract": False})(environment)
    answer = fast.client.get("/endless", stream=True)
    read.append(_read_until(answer.iter_content(1_000_000, decode_content=False)))
    answer.release()
    return read


def _read_until(parts: Any, enough: int = 20_000_000) -> int:
    read = 0
    for part in parts:
        read += len(part)
        if read > enough:
            break
    return read

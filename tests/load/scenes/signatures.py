"""What the two clients raise against servers that misbehave, reduced."""

from __future__ import annotations

from typing import Any

import locust
import msgspec
from locust.env import Environment
from locust.exception import CatchResponseError

from capexplorer.load.signature import reduce

PATHS = {"reset": "/reset", "silence": "/silence", "half": "/half", "garbage": "/garbage", "status_503": "/503"}


def _fails(kind: type[locust.User], host: str, path: str, **options: Any) -> Any:
    """The signature of the request's exception, as the request event tells it; None: a success."""
    environment, seen = Environment(user_classes=[]), []
    environment.events.request.add_listener(lambda exception=None, **_: seen.append(exception))  # type: ignore[no-untyped-call]
    attributes = {"host": host, "abstract": False, **options}
    user = type("Client", (kind,), attributes)(environment)
    user.client.get(path, **({"timeout": 0.3} if kind is locust.HttpUser and path == "/hang" else {}))
    assert len(seen) == 1
    return None if seen[0] is None else msgspec.to_builtins(reduce(seen[0]))


def requests_client(url: str, refused: str) -> dict[str, Any]:
    found = {name: _fails(locust.HttpUser, url, path) for name, path in PATHS.items()}
    found["timeout"] = _fails(locust.HttpUser, url, "/hang")
    found["refused"] = _fails(locust.HttpUser, refused, "/")
    return found | {"no_name": _fails(locust.HttpUser, "http://no-such-host.invalid", "/")}


def fast_client(url: str, refused: str) -> dict[str, Any]:
    found = {name: _fails(locust.FastHttpUser, url, path) for name, path in PATHS.items()}
    found["timeout"] = _fails(locust.FastHttpUser, url, "/hang", network_timeout=0.3, connection_timeout=0.3)
    found["refused"] = _fails(locust.FastHttpUser, refused, "/")
    return found | {"no_name": _fails(locust.FastHttpUser, "http://no-such-host.invalid", "/")}


def checks() -> list[str]:
    texts = ["lost_updates: saw 3", "lost_updates: saw 4", "lost_updates", "task FAILED", "not a check: really", "http://x:80/y"]
    return [reduce(CatchResponseError(text)).text for text in texts]

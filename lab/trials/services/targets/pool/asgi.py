"""The ASGI application of the services: /work replies after their work, any other path at once."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

WORKERS, SLEEP_S = int(os.environ.get("WORKERS", "1")), float(os.environ.get("SLEEP_S", "0.1"))

Action = Callable[[], Awaitable[None]]


async def nothing() -> None:
    """The `begin` of a service that prepares nothing."""


def app_of(work: Action, begin: Action = nothing) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """An application whose /work waits for `work`; `begin` runs once, in the server's loop."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await begin()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            return await send({"type": "lifespan.shutdown.complete"})
        if scope["path"] == "/work":
            await work()
        body = b"ok\n"
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app

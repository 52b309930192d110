"""An ASGI application: GET /work sleeps in a connection of its own."""

import os
from typing import Any

import psycopg

DSN = f"host={os.environ.get('DATABASES', '/nowhere')} dbname=postgres user=service"
SLEEP_S = float(os.environ.get("SLEEP_S", "0.1"))


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        return await send({"type": "lifespan.shutdown.complete"})
    status, text = 200, "ok"
    if scope["path"] == "/work":
        try:
            async with await psycopg.AsyncConnection.connect(DSN) as connection:
                await connection.execute("select pg_sleep(%s)", (SLEEP_S,))
        except psycopg.OperationalError as error:
            status, text = 500, str(error)
    body = text.encode()
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})

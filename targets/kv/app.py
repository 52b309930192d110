"""A key-value store over HTTP, as a Flask application. It does not depend on the store's locks or on the server."""

from __future__ import annotations

from typing import Any

from flask import Flask, request
from stores import Store

KEYS = 1_000
"""Number of keys that exist from the start, so that no reader finds an empty store: key-0 to key-999."""

Answer = tuple[dict[str, Any], int]


def create_app(store: Store, burst: int) -> Flask:
    """The application. `burst`: how often a request reads or writes its key, since a single use of a lock is too short to be
    measured over HTTP."""
    app = Flask("kv")
    for number in range(KEYS):
        store.put(f"key-{number}", f"value-{number}")

    @app.get("/get")
    def get() -> Answer:
        key = request.args.get("key", "")
        for _ in range(burst):
            value = store.get(key)
        return ({"key": key, "value": value}, 200) if value is not None else ({"error": f"no key {key!r}"}, 404)

    @app.post("/post")
    def post() -> Answer:
        match request.get_json(silent=True):
            case {"key": str(key), "value": str(value)}:
                for _ in range(burst):
                    store.put(key, value)
                return {"key": key, "value": value}, 200
        return {"error": 'expected {"key": TEXT, "value": TEXT}'}, 400

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    return app

"""The task queue over HTTP, as a Flask application: submit a task, poll its status, fetch its result. `queueing.py` carries it
out."""

from __future__ import annotations

import time
from typing import Any

from flask import Flask, request
from queueing import QueueFull, TaskQueue

Answer = tuple[dict[str, Any], int] | tuple[dict[str, Any], int, dict[str, str]]

PAGE = "/page"
PAGE_BODY = "<!doctype html><title>A page</title>" + "<p>Fetched by tasks of the kind http-fetch.</p>" * 100


def create_app(queue: TaskQueue, fetch_ms: float) -> Flask:
    """The application. `fetch_ms`: response time of the page that tasks of the kind http-fetch fetch."""
    app = Flask("taskqueue")

    @app.post("/tasks/submissions")
    def submit() -> Answer:
        body = request.get_json(silent=True)
        kind = body.get("kind") if isinstance(body, dict) else None
        if not isinstance(kind, str) or kind not in queue.kinds:
            return {"error": f"expected JSON with a `kind` of {', '.join(queue.kinds)}"}, 400
        try:
            task = queue.submit(kind)
        except QueueFull:
            return {"error": "the queue is full"}, 503, {"Retry-After": "1"}
        except OSError as error:
            return {"error": f"the task could not be saved: {error}"}, 500
        return {"id": task.id, "status": task.status}, 202, {"Location": f"/tasks/submissions/{task.id}"}

    @app.get("/tasks/submissions/<task_id>")
    def status(task_id: str) -> Answer:
        task = queue.find(task_id)
        if task is None:
            return _unknown(task_id)
        return {"id": task.id, "kind": task.kind, "status": task.status} | ({"error": task.error} if task.error else {}), 200

    @app.get("/tasks/<task_id>")
    def result(task_id: str) -> Answer:
        task = queue.find(task_id)
        if task is None:
            return _unknown(task_id)
        if not task.has_ended:
            return {"error": f"task {task_id} is {task.status}"}, 409
        return {"id": task.id, "status": task.status, "result": task.result, "error": task.error}, 200

    @app.get("/metrics")
    def metrics() -> dict[str, int]:
        return queue.metrics()

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get(PAGE)
    def page() -> str:
        time.sleep(fetch_ms / 1000)
        return PAGE_BODY

    return app


def _unknown(task_id: str) -> Answer:
    return {"error": f"no task {task_id}"}, 404

"""The service that the examples load: `python service.py PORT`. It answers anything, and says by the path how."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from xmlrpc.client import dumps, loads

PAGE = '<html><form action="/sign-in"><input name="authenticity_token" value="a1b2"></form><a href="/quickstart">q</a></html>'


class Handler(BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm, wbufsize = "HTTP/1.1", True, 65_536

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        status = {"/fails": 500, "/error": 500, "/missing": 404}.get(path, 200)
        if path.startswith("/json"):
            self._answer(status, json.dumps({"message": "Welcome foo!", "args": {"foo": 1}}), "application/json")
        else:
            self._answer(status, PAGE, "text/html")

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/RPC2":
            numbers: Any
            numbers, name = loads(sent)
            self._answer(200, dumps((f"{name} {sum(numbers)}",), methodresponse=True), "text/xml")
        elif self.path == "/sign-in":
            self.send_response(302)
            self.send_header("Location", "/welcome" if b"a1b2" in sent else "/sign-in")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            is_json = "json" in self.headers.get("Content-Type", "")
            found = json.loads(sent) if is_json else sent.decode("utf-8", "replace")
            self._answer(200, json.dumps({"data": found, "orderId": 42, "message": "Welcome foo!"}), "application/json")

    def _answer(self, status: int, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Nothing is printed for a request."""


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 128
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

"""A service for tests: its second argument sets how it behaves. Standard library only, so that it starts quickly."""

from __future__ import annotations

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Escape sequences that clear the screen, set colour and title, ring the bell; a C1 control character; markup of Rich.
HOSTILE = "\x1b[2J\x1b[H\x1b[31mHOSTILE\x1b[0m\x1b]0;title\x07 \x9b2J [bold red]markup[/bold red] [/nothing] end"


class Actor(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802 - the library's name
        if self.path == "/hostile":
            self.respond(500, HOSTILE)
        else:
            time.sleep(0.002)
            self.respond(200, "ok")

    do_POST = do_GET  # noqa: N815 - the library's name

    def respond(self, status: int, text: str) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


def print_hostile() -> None:
    while True:
        print(HOSTILE, flush=True)
        print(HOSTILE, file=sys.stderr, flush=True)
        time.sleep(0.5)


def main() -> None:
    port, act = int(sys.argv[1]), sys.argv[2]
    if act == "dies_at_start":
        sys.exit("no configuration found")
    if act == "dies_hostile":
        sys.exit(HOSTILE)
    server = Server(("127.0.0.1", port), Actor)
    if act == "prints_hostile":
        threading.Thread(target=print_hostile, daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()

"""Users of a service that answers a line with a line over TCP. Each keeps one connection, and opens another after a failure."""

import socket

from locust import User, constant, task

TIMEOUT_S = 5


class LineUser(User):
    wait_time = constant(0.4)
    connection: socket.socket | None = None

    def on_stop(self) -> None:
        self.close()

    def connect(self) -> None:
        host, port = self.host.removeprefix("http://").rsplit(":", 1)
        self.connection = socket.create_connection((host, int(port)), TIMEOUT_S)
        self.replies = self.connection.makefile("rb")

    def close(self) -> None:
        if self.connection is not None:
            self.replies.close()
            self.connection.close()
            self.connection = None

    @task
    def line(self) -> None:
        with self.environment.events.request.measure("TCP", "line"):
            try:
                if self.connection is None:
                    self.connect()
                self.connection.sendall(b"hello\n")
                reply = self.replies.readline()
                if not reply:
                    raise ConnectionResetError("closed in place of a reply")
                assert reply == b"hello\n", reply.decode().strip()
            except Exception:
                self.close()
                raise

"""Users of a WebSocket service: each keeps one connection, sends a message and waits for the reply that has its number.

A greenlet of each user reads, as it must where the service also sends by itself. Who was waiting fires the request, so that it
counts for its user and has the time until the reply.
"""

import itertools
import json
from typing import Any

import gevent
from gevent.event import AsyncResult
from locust import User, constant, task
from websocket import ABNF, WebSocket, create_connection

TIMEOUT_S = 5


class WebSocketUser(User):
    wait_time = constant(0.4)
    socket: WebSocket | None = None

    def on_start(self) -> None:
        self.numbers = itertools.count()
        self.waiting: dict[int, AsyncResult[Any]] = {}

    def on_stop(self) -> None:
        if self.socket is not None:
            self.socket.shutdown()  # the reader ends with it

    def connect(self) -> None:
        socket = create_connection(f"{self.host}/ws".replace("http", "ws", 1), timeout=TIMEOUT_S)
        socket.settimeout(None)  # the reader waits for as long as the user thinks
        self.socket = socket
        gevent.spawn(self.read, socket)

    def read(self, socket: WebSocket) -> None:
        """Give each message to who waits for it; at the end of the connection give the reason to all who wait."""
        try:
            while True:
                kind, data = socket.recv_data()
                if kind == ABNF.OPCODE_CLOSE:
                    raise ConnectionError(f"WebSocket {int.from_bytes(data[:2])}: {data[2:].decode()}")
                reply = json.loads(data)
                self.waiting[reply["number"]].set(reply)
        except Exception as error:
            self.socket = None
            for each in self.waiting.values():
                each.set_exception(error)

    @task
    def echo(self) -> None:
        if self.socket is None:
            with self.environment.events.request.measure("WebSocket", "connect"):
                self.connect()
        if self.socket is not None:
            with self.environment.events.request.measure("WebSocket", "echo") as request:
                self.ask({"number": next(self.numbers), "text": "hello"}, request)

    def ask(self, message: dict[str, Any], request: dict[str, Any]) -> None:
        reply = self.waiting[message["number"]] = AsyncResult()
        try:
            self.socket.send(json.dumps(message))
            request["response_length"] = len(json.dumps(reply.get(timeout=TIMEOUT_S)))
        finally:
            del self.waiting[message["number"]]

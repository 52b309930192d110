"""Users of a Socket.IO service: each keeps one connection, emits an event and waits for its acknowledgement."""

from locust import User, constant, task
from socketio import Client

TIMEOUT_S = 5


class SocketIOUser(User):
    wait_time = constant(0.4)

    def on_start(self) -> None:
        self.client = Client(reconnection=False)  # so that each connection is a request

    def on_stop(self) -> None:
        self.client.disconnect()

    @task
    def work(self) -> None:
        if not self.client.connected:
            with self.environment.events.request.measure("Socket.IO", "connect"):
                self.client.connect(self.host, transports=["websocket"])
        if self.client.connected:
            with self.environment.events.request.measure("Socket.IO", "work"):
                reply = self.client.call("work", {"text": "hello"}, timeout=TIMEOUT_S)
                assert "error" not in reply, reply["error"]

"""Locust's MasterRunner with our own rules for who may join and who is lost, and with dispatches that never block messages."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

import gevent
from locust.env import Environment
from locust.exception import RPCReceiveError
from locust.rpc import Message
from locust.runners import STATE_STOPPED, STATE_STOPPING, MasterRunner
from msgpack import OutOfData  # type: ignore[import-untyped]

LOOK_EVERY_S = 0.25


class Desk(Protocol):
    """Who decides about workers."""

    def receive(self, client_id: str, message: Message) -> bool:
        """A message has come; whether Locust is to handle it."""

    def handled(self, client_id: str, message: Message) -> None:
        """Locust has handled it."""

    def lose(self, client_id: str, why: str) -> None:
        """Give up a worker, if it is one."""

    def look(self) -> None:
        """Called every LOOK_EVERY_S."""


class Master(MasterRunner):
    """`dispatch` is its `start`."""

    def __init__(self, environment: Environment, host: str, port: int, desk: Desk) -> None:
        self._desk = desk
        super().__init__(environment, host, port)
        receive = self.server.recv_from_client

        def receive_well_formed() -> Any:
            try:
                return receive()  # type: ignore[no-untyped-call]
            except (gevent.GreenletExit, RPCReceiveError):
                raise
            except (
                ValueError,
                TypeError,
                IndexError,
                OutOfData,
            ) as error:  # else a stranger's bytes end the greenlet that takes messages
                raise RPCReceiveError(f"not a message: {error}") from error

        self.server.recv_from_client = receive_well_formed  # type: ignore[method-assign]

    def start(self, user_count: int, spawn_rate: float, wait: bool = False, user_classes: Any = None) -> None:
        """Nothing. Locust calls this where workers come and go, in the greenlet that takes messages: the engine dispatches."""

    def dispatch(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Send users to workers at this rate. Blocks until all are sent, and up to a second more until they run."""
        super().start(users, spawn_rate, user_classes=classes)

    def heartbeat_worker(self) -> NoReturn:
        """In place of Locust's own count of heartbeats, of which a worker may miss four."""
        while True:
            gevent.sleep(LOOK_EVERY_S)
            self._desk.look()

    def handle_message(self, client_id: str, msg: Message) -> None:
        """Messages that the desk leaves to Locust."""
        try:
            if self._desk.receive(client_id, msg):
                super().handle_message(client_id, msg)
                self._desk.handled(client_id, msg)
        except Exception as error:  # noqa: BLE001 - else one peer's message ends the greenlet that takes everybody's
            self._desk.lose(client_id, f"its message `{msg.type}` cannot be read: {type(error).__name__}")

    def send_to(self, client_id: str, kind: str, data: Any = None) -> None:
        """One message to one peer."""
        self.server.send_to_client(Message(kind, data, client_id))  # type: ignore[no-untyped-call]

    def active(self) -> list[Any]:
        """Locust's nodes that can be sent users."""
        return [*self.clients.ready, *self.clients.spawning, *self.clients.running]

    def forget(self, client_id: str) -> None:
        """Send this worker no users any more."""
        node = self.clients.get(client_id)
        if node is None:
            return
        del self.clients[client_id]
        if self._users_dispatcher is not None:
            self._users_dispatcher.remove_worker(node)

    @property
    def is_stopped(self) -> bool:
        """The locustfile has stopped the test."""
        return self.state in (STATE_STOPPING, STATE_STOPPED)

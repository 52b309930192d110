"""Locust's MasterRunner with our own rules on admitted and lost workers, and with dispatches that do not block messages."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

import gevent
from locust.env import Environment
from locust.exception import RPCReceiveError
from locust.rpc import Message
from locust.runners import STATE_STOPPED, STATE_STOPPING, MasterRunner
from msgpack import OutOfData  # type: ignore[import-untyped]

from ...model import outside

LOOK_EVERY_S = 0.25

WHY_MOST = 200
"""Characters of the reason why a worker is lost."""


class MessageHandler(Protocol):
    """Admits and removes workers, and handles their messages."""

    def receive(self, client_id: str, message: Message) -> bool:
        """Handle a message. Returns whether Locust must handle it too."""

    def handled(self, client_id: str, message: Message) -> None:
        """Called after Locust has handled a message."""

    def lose(self, client_id: str, why: str) -> None:
        """Remove a worker. Has no effect for another client."""

    def check_workers(self) -> None:
        """Called every LOOK_EVERY_S."""


class Master(MasterRunner):
    """The runner. Call `dispatch` in place of `start`, which does nothing."""

    def __init__(self, environment: Environment, host: str, port: int, handler: MessageHandler) -> None:
        self._handler = handler
        super().__init__(environment, host, port)
        receive = self.server.recv_from_client

        def receive_well_formed() -> Any:
            try:
                return receive()  # type: ignore[no-untyped-call]
            except (gevent.GreenletExit, RPCReceiveError):
                raise
            except (ValueError, TypeError, IndexError, OutOfData) as error:  # else malformed bytes end the receiving greenlet
                raise RPCReceiveError(f"not a message: {error}") from error

        self.server.recv_from_client = receive_well_formed  # type: ignore[method-assign]

    def start(self, user_count: int, spawn_rate: float, wait: bool = False, user_classes: Any = None) -> None:
        """Do nothing. Locust calls this when workers join or leave, in the greenlet that receives messages; the engine
        dispatches in another one.
        """

    def dispatch(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Send users to workers at this rate. Blocks until all are sent, and up to a second more until they run."""
        super().start(users, spawn_rate, user_classes=classes)

    def heartbeat_worker(self) -> NoReturn:
        """Call `check_workers` regularly, in place of Locust's count of heartbeats, of which a worker may miss four."""
        while True:
            gevent.sleep(LOOK_EVERY_S)
            self._handler.check_workers()

    def handle_message(self, client_id: str, msg: Message) -> None:
        """Pass a message to the handler, and to Locust if the handler says so."""
        try:
            if self._handler.receive(client_id, msg):
                super().handle_message(client_id, msg)
                self._handler.handled(client_id, msg)
        except Exception as error:  # noqa: BLE001 - else a message of one peer ends the greenlet that receives all messages
            why = outside.text(f"its message `{msg.type}` cannot be read: {type(error).__name__}: {error}", WHY_MOST)
            self._handler.lose(client_id, why)

    def send_to(self, client_id: str, kind: str, data: Any = None) -> None:
        """Send one message to one peer."""
        self.server.send_to_client(Message(kind, data, client_id))  # type: ignore[no-untyped-call]

    def active(self) -> list[Any]:
        """Locust's worker nodes that users can be sent to."""
        return [*self.clients.ready, *self.clients.spawning, *self.clients.running]

    def forget(self, client_id: str) -> None:
        """Remove this worker from Locust's list, so that it gets no users."""
        node = self.clients.get(client_id)
        if node is None:
            return
        del self.clients[client_id]
        if self._users_dispatcher is not None:
            self._users_dispatcher.remove_worker(node)

    @property
    def is_stopped(self) -> bool:
        """Whether the locustfile has stopped the test."""
        return self.state in (STATE_STOPPING, STATE_STOPPED)

"""Users of a gRPC service, by unary calls and by streams of replies. An interceptor reports the calls of any stub.

The sample service takes bytes; with a generated stub `self.work` would be `SomethingStub(self.channel).Work`.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import grpc
from grpc.experimental.gevent import init_gevent
from locust import User, constant, task
from locust.event import EventHook

init_gevent()  # without it the first call stops all users until it is answered

TIMEOUT_S = 5


class Reported(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Each call is a request. A stream is one, too, which ends with its last message."""

    def __init__(self, request: EventHook) -> None:
        self.request = request

    def intercept_unary_unary(self, call: Callable[..., Any], details: Any, message: Any) -> Any:
        with self.request.measure("gRPC", details.method):
            result = call(details, message)
            result.result()  # raises what was wrong
        return result

    def intercept_unary_stream(self, call: Callable[..., Any], details: Any, message: Any) -> Iterator[Any]:
        with self.request.measure("gRPC", details.method) as request:
            for reply in call(details, message):
                request["response_length"] += len(reply)
                yield reply


class GrpcUser(User):
    wait_time = constant(0.4)

    def on_start(self) -> None:
        own = [("grpc.use_local_subchannel_pool", 1)]  # else the users share one connection
        self.channel = grpc.insecure_channel(self.host.removeprefix("http://"), own)
        reported = grpc.intercept_channel(self.channel, Reported(self.environment.events.request))
        self.work = reported.unary_unary("/sample.Pool/Work")
        self.stream = reported.unary_stream("/sample.Pool/Stream")

    def on_stop(self) -> None:
        self.channel.close()

    @task(3)
    def unary(self) -> None:
        with suppress(grpc.RpcError):  # it has been reported
            self.work(b"hello", timeout=TIMEOUT_S)

    @task
    def streamed(self) -> None:
        for _ in self.stream(b"hello", timeout=TIMEOUT_S):
            pass

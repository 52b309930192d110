"""The lean client in user code: requests, responses, checks, cookies, redirects, timeouts and TLS."""

from __future__ import annotations

import itertools
import socket
import sys
import types
from typing import Any

import gevent
from locust.env import Environment
from locust.exception import LocustError, ResponseError

from capexplorer.load import bodies
from capexplorer.load.lean.connection import Reply
from capexplorer.load.signature import signature_of
from capexplorer.users import LeanHttpUser

REQUESTS = 50


class _Reported:
    """A user, and the request events that it fired."""

    def __init__(self, url: str, **attributes: Any) -> None:
        environment = Environment(user_classes=[])
        self.events: list[dict[str, Any]] = []
        environment.events.request.add_listener(lambda **fired: self.events.append(fired))  # type: ignore[no-untyped-call]
        self.user: Any = type("Client", (LeanHttpUser,), {"host": url, "abstract": False, **attributes})(environment)
        self.client = self.user.client

    def outcomes(self) -> list[str | None]:
        return [
            None if each["exception"] is None else signature_of(each["exception"], each["response"]).text for each in self.events
        ]


def what_is_sent(echo: str) -> dict[str, Any]:
    client = _Reported(echo.replace("http://", "http://ann:s%20t@")).client
    found = {
        "get": client.get("/a b?q=ä").json(),
        "head": client.head("/x").status_code,
        "form": client.post("/form", {"a": "1 2"}).json(),
        "json": client.post("/json", json={"a": [1]}).json(),
        "text": client.put("/text", "käse").json(),
        "empty": client.post("/empty").json(),
        "params": client.get("/p?a=1", params={"b": 2}).json(),
        "own headers": client.get("/h", headers={"user-agent": "me", "Host": "other"}).json(),
        "auth": client.get("/auth", auth=("bob", "pw")).json(),
    }
    return found


def requests_that_cannot_be_sent(echo: str) -> list[str]:
    client, found = _Reported(echo).client, []
    tries: list[Any] = [
        lambda: client.get("/", headers={"X": "a\r\nY: b"}),
        lambda: client.get("/", headers={"X y": "a"}),
        lambda: client.request("GET / HTTP/1.1\r\nX:", "/"),
        lambda: client.get("http://"),
    ]
    for attempt in tries:
        try:
            attempt()
            found.append("sent")
        except ValueError:
            found.append("refused")
    return found


def a_large_body(echo: str) -> list[Any]:
    """A body that is larger than all buffers, and one that is refused before the service has read it."""
    seen = _Reported(echo)
    whole = seen.client.post("/large", b"x" * 8_000_000).json()["bytes"]
    refused = seen.client.post("/refuse-early", b"x" * 8_000_000)
    return [whole, refused.status_code]


def responses(echo: str) -> dict[str, Any]:
    seen = _Reported(echo)
    response = seen.client.get("/set-cookie", name="named", context={"k": 1})
    fired = seen.events[0]
    with seen.client.rename_request("renamed"):
        seen.client.get("/x")
    return {
        "names": [each["name"] for each in seen.events],
        "ok": response.ok,
        "url": response.url == f"{echo}/set-cookie",
        "header": response.headers["content-LENGTH"] == str(len(response.content)),
        "cookies": response.headers.getlist("set-cookie"),
        "context": fired["context"],
        "length": fired["response_length"] == len(response.content),
        "time": 0 < fired["response_time"] < 60_000,
        "fields": sorted(fired),
    }


def caught(echo: str) -> list[str | None]:
    seen = _Reported(echo)
    with seen.client.get("/x", catch_response=True) as response:
        response.failure("lost_updates: saw 3")
    with seen.client.get("/x", catch_response=True) as response:
        raise ResponseError("wrong")
    with seen.client.get("/x", catch_response=True):
        pass
    with seen.client.get("http://127.0.0.1:9/", catch_response=True) as response:
        response.success()
    with seen.client.get("http://127.0.0.1:9/", catch_response=True):
        pass
    outcomes = seen.outcomes()
    try:
        with seen.client.get("/x", catch_response=True):
            raise KeyError("a mistake of user code")
    except KeyError:
        outcomes.append(f"raised, {len(seen.events)} events")
    try:
        seen.client.get("/x").failure("no with-block")
    except LocustError:
        outcomes.append("refused")
    return outcomes


def rest(echo: str) -> list[Any]:
    seen = _Reported(echo)
    with seen.user.rest("GET", "/x") as response:
        found = [response.js["path"]]
    with seen.user.rest("GET", "http://127.0.0.1:9/"):
        pass
    return [*found, [each is None for each in seen.outcomes()]]


def cookies(echo: str) -> list[Any]:
    """The cookie header of a user that keeps no cookies, and of one that does."""
    found = []
    for keeps in (False, True):
        client = _Reported(echo, keeps_cookies=keeps).client
        client.get("/set-cookie")
        found.append(client.get("/x").json()["headers"].get("cookie"))
    return found


def changed_cookies(echo: str) -> list[Any]:
    """The cookie header after changes of the jar."""
    client, found = _Reported(echo).client, []

    def look() -> None:
        found.append(client.get("/x").json()["headers"].get("cookie"))

    client.get("/set-cookie")
    look()
    client.cookies.set("seat", "8", domain="127.0.0.1", path="/")
    look()
    client.cookies.clear("127.0.0.1", "/", "seat")
    look()
    found.append(client.get("/x", headers={"cookie": "own=1"}).json()["headers"]["cookie"])
    client.cookies.clear()
    look()
    return found


def redirects(echo: str) -> list[Any]:
    """Redirects with and without `allow_redirects`."""
    seen = _Reported(echo.replace("http://", "http://ann:pw@"))
    plain = seen.client.get("/moved", allow_redirects=False).status_code
    followed = seen.client.post("/moved", "body", allow_redirects=True)
    elsewhere = seen.client.get("/round", allow_redirects=True)
    landed = followed.json()
    fired = [each["name"] for each in seen.events]
    return [plain, followed.url == f"{echo}/landed", landed["method"], landed["bytes"], "authorization" in landed["headers"],
            type(elsewhere.error).__name__, fired]  # fmt: skip


def streams_that_are_left(echo: str) -> list[Any]:
    """More streams than a user may have connections, each left before its end: dropped, closed, and with an error in it."""
    seen = _Reported(echo)
    client, found = seen.client, []
    for number in range(24):
        response = client.get("/trickle", stream=True)
        found.append(len(response.stream.read(3)))
        if number % 2:
            response.close()
        del response
        seen.events.clear()
    return [set(found) == {3}, client.get("/x").status_code]


def a_reply_that_trickles(echo: str) -> list[str]:
    """The timeout limits the whole request, not each piece of the reply."""
    seen = _Reported(echo, network_timeout=0.5)
    seen.client.get("/trickle")
    return [type(seen.events[0]["exception"]).__name__]


def many_requests_on_one_connection(echo: str) -> list[Any]:
    """Requests that together take longer than the timeout, each far below it."""
    client = _Reported(echo, network_timeout=1.0).client
    return [client.get("/slow").status_code for _ in range(12)]


def killed_in_a_request(url: str) -> list[Any]:
    """A user that ends while it waits: its connection is closed, and the next one works."""
    seen = _Reported(url)
    waiting = gevent.spawn(seen.client.get, "/hang")
    gevent.sleep(0.1)
    waiting.kill()
    return [len(seen.events), seen.client.get("/ok").status_code]


def at_the_same_time(url: str) -> list[int]:
    """Greenlets of one user take a connection each."""
    client = _Reported(url).client
    return [job.get().status_code for job in [gevent.spawn(client.get, "/ok") for _ in range(5)]]


def ended_while_idle(url: str) -> list[Any]:
    """Requests after the service has ended two of three idle connections, those that would be used next."""
    client = _Reported(url).client
    gevent.joinall([gevent.spawn(client.get, "/ok") for _ in range(3)], raise_error=True)
    (pool,) = client._pools.values()
    ended = pool.free[-2:]
    for connection in ended:
        connection._sock.shutdown(socket.SHUT_RDWR)
    while not all(connection._is_lost() for connection in ended):
        gevent.sleep(0)
    replies = [client.get("/ok") for _ in range(2)]
    return [[reply.timing.connect_s for reply in replies], len(pool.free), len(list(filter(None, pool.free)))]


def bytecodes_of_a_request(url: str) -> int:
    """The fewest bytecodes that the user executes in a GET on a kept connection, for a reply that arrives whole."""
    client, executed, found = _Reported(url).client, itertools.count(), []

    def trace(frame: types.FrameType, what: str, _: object) -> Any:
        frame.f_trace_opcodes = True
        if what == "opcode":
            next(executed)
        return trace

    client.get("/ok")
    for _ in range(REQUESTS):
        before = next(executed)
        sys.settrace(trace)
        client.get("/ok")
        sys.settrace(None)
        found.append(next(executed) - before - 1)
    return min(found)


def over_tls(tls: str) -> list[Any]:
    seen = _Reported(tls)
    found = [seen.client.get("/ok").text for _ in range(3)]
    strict = _Reported(tls, insecure=False)
    strict.client.get("/ok")
    return [found, "SSLCertVerificationError" in signature_of(strict.events[0]["exception"]).types]


def many_small_chunks() -> str:
    """A body over the bound in chunks of one byte."""
    reply = Reply(is_head=False, most_bytes=50_000)
    try:
        reply.take(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(100):
            reply.take(b"1\r\nx\r\n" * 1_000)
    except bodies.BodyTooLarge:
        return f"refused with {len(reply.body)} bytes"
    return "taken"

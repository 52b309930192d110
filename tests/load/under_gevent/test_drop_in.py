"""LeanHttpUser in the place of FastHttpUser and HttpUser: user code sees the same, or is refused in one line."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import gevent.pool
import gevent.ssl
import locust
import pytest
from geventhttpclient.client import HTTPClientPool
from locust import TaskSet, task
from locust.env import Environment
from locust.exception import CatchResponseError, InterruptTaskSet, LocustError, ResponseError
from locust.util.load_locustfile import is_user_class

from capexplorer.load.lean.prepared import LeanRefusal
from capexplorer.load.lean.user import LeanHttpUser

NOBODY = "http://127.0.0.1:9"
"""A host where nothing listens."""


class Seen:
    """User classes of one kind, and what their requests reported."""

    def __init__(self, kind: Any, url: str, tls: str) -> None:
        self.kind, self.url, self.tls = kind, url, tls
        self.environment = Environment(user_classes=[])
        self.events: list[dict[str, Any]] = []
        self.environment.events.request.add_listener(lambda **fired: self.events.append(fired))  # type: ignore[no-untyped-call]

    def user(self, host: str | None = None, **attributes: Any) -> Any:
        found = {"host": host or self.url, "abstract": False, **attributes}
        return type("Client", (self.kind,), found)(self.environment)

    @property
    def client(self) -> Any:
        return self.user().client

    def outcomes(self) -> list[str]:
        """The type of the failure of each request so far; empty for successes."""
        return ["" if each["exception"] is None else type(each["exception"]).__name__ for each in self.events]

    def names(self) -> list[list[str]]:
        return [[each["request_type"].upper(), each["name"]] for each in self.events]


Case = Callable[[Seen], Any]
CASES: dict[str, Case] = {}
"""By name: user code of a FastHttpUser."""
HTTP_CASES: dict[str, Case] = {}
"""By name: user code of an HttpUser, that a FastHttpUser does not know."""


def _case(function: Case) -> Case:
    CASES[function.__name__.removeprefix("_").replace("_", " ")] = function
    return function


def _http_case(function: Case) -> Case:
    HTTP_CASES[function.__name__.removeprefix("_").replace("_", " ")] = function
    return function


def _raised(act: Callable[[], object], kind: type[BaseException]) -> str:
    try:
        act()
    except kind as error:
        return type(error).__name__
    return "nothing"


# -- what is sent, and what a response has


@_case
def _methods(seen: Seen) -> Any:
    client = seen.client
    sent = [getattr(client, name)("/method").text for name in ("get", "post", "put", "patch", "delete", "options", "head")]
    return [*sent, client.request("get", "/method").text]


@_case
def _absolute_url(seen: Seen) -> Any:
    return seen.client.get(seen.url + "/method").text


@_case
def _forms(seen: Seen) -> Any:
    client = seen.client
    return [client.post("/field", {"arg": "hello world"}).text, client.put("/field", {"arg": "hello world"}).text]


@_case
def _json(seen: Seen) -> Any:
    response = seen.client.post("/x", json={"foo": "bar"})
    return [response.request.body, response.request.headers.get("Content-Type"), response.json()["body"]]


@_case
def _params(seen: Seen) -> Any:
    client = seen.client
    given: list[Any] = [{"a": None, "b": 1}, {"a": ["x", "y"]}, [("a", "1"), ("a", "2")], "a=1"]
    return [client.get("/p", params=each).json()["path"] for each in given] + [
        client.get("/p?q=1", params={"a": 2}).json()["path"]
    ]


@_case
def _headers(seen: Seen) -> Any:
    response = seen.client.get("/x", headers={"X-Test": "hello"})
    return [response.request.headers.get("x-test"), response.json()["headers"]["x-test"], "CONTENT-length" in response.headers]


@_case
def _default_headers(seen: Seen) -> Any:
    client = seen.user(default_headers={"X-All": "1"}).client
    return [client.get("/x").json()["headers"]["x-all"], client.get("/x", headers={"x-all": "2"}).json()["headers"]["x-all"]]


@_case
def _file_upload(seen: Seen) -> Any:
    sent = seen.client.post("/x", files={"f": ("a.txt", b"data")}, data={"k": "v"}).json()
    kind, body = sent["headers"]["content-type"], sent["body"]
    return [kind.startswith("multipart/form-data; boundary="), 'filename="a.txt"' in body, "\r\n\r\nv" in body]


@_case
def _credentials(seen: Seen) -> Any:
    def status(credentials: str) -> int:
        code: int = seen.user(seen.url.replace("//", f"//{credentials}")).client.get("/auth-needed").status_code
        return code

    given = seen.client.get("/auth-needed", auth=("locust", "menace")).status_code
    return [status(""), status("locust:menace@"), status("locust:wrong@"), given]


@_case
def _charsets(seen: Seen) -> Any:
    kinds = ("application/json;", "application/json; charset=utf-8;", "application/json; charset=utf-8; api-version=3.0")
    return [seen.client.get(f"/typed/{kind.replace(' ', '%20')}").text for kind in kinds]


@_case
def _url_of_the_response(seen: Seen) -> Any:
    response = seen.client.get("/status/204")
    return [response.status_code, response.url == f"{seen.url}/status/204", response.request.url == response.url, response.ok]


@_case
def _cookies(seen: Seen) -> Any:
    client = seen.client
    client.post("/set-cookie")
    return [client.get("/x").json()["headers"]["cookie"], sorted(cookie.name for cookie in client.cookiejar)]


# -- redirects


@_case
def _redirects(seen: Seen) -> Any:
    client = seen.client
    return [client.get("/twice").json()["path"], client.post("/moved").json()["method"], seen.names()]


@_case
def _redirects_not_followed(seen: Seen) -> Any:
    client = seen.client
    first = client.get("/moved", allow_redirects=False)
    return [first.status_code, first.headers["location"], "location" in client.get("/moved").headers]


@_case
def _redirects_without_end(seen: Seen) -> Any:
    response = seen.user(max_redirects=3).client.get("/round")
    return [response.status_code, [outcome != "" for outcome in seen.outcomes()]]


# -- what is reported


@_case
def _names(seen: Seen) -> Any:
    client = seen.client
    client.get("/x", name="named")
    client.get("/x?query=1")
    client.put("/x")
    with client.rename_request("renamed"):
        client.get("/x")
    client.get("/x")
    return seen.names()


@_case
def _name_of_a_failed_one(seen: Seen) -> Any:
    client = seen.client
    client.get("/status/404", name="named", context={"foo": "bar"})
    fired = seen.events[0]
    texts = [text in str(fired["exception"]) for text in ("/status/404", "code=404")]
    return [fired["name"], fired["url"] == client.base_url + "/status/404", fired["context"], texts]


@_case
def _context(seen: Seen) -> Any:
    user = seen.user(context=lambda self: {"user": self.username})
    user.username = "foo"
    user.client.get("/x")
    user.client.get("/x", context={"user": "bar"})
    return [fired["context"] for fired in seen.events]


@_case
def _lengths(seen: Seen) -> Any:
    client = seen.client
    for path, stream in (("/typed/a", False), ("/no-length", False), ("/typed/a", True), ("/no-length", True)):
        _ = client.get(path, stream=stream).content
    return [fired["response_length"] for fired in seen.events]


@_case
def _statuses(seen: Seen) -> Any:
    client = seen.client
    return [[client.get(f"/status/{status}").status_code for status in (204, 404, 500, 503)], seen.outcomes()]


@_case
def _connection_refused(seen: Seen) -> Any:
    response = seen.user(NOBODY).client.get("/", headers={"X-Test": "hello"})
    return [response.status_code, response.content, type(response.error).__name__, response.url, response.request.url,
            response.request.headers.get("X-Test"), seen.outcomes()]  # fmt: skip


@_case
def _network_timeout(seen: Seen) -> Any:
    response = seen.user(network_timeout=0.01).client.get("/slow")
    return [response.status_code, [outcome != "" for outcome in seen.outcomes()]]


@_case
def _a_timeout_of_user_code(seen: Seen) -> Any:
    with gevent.Timeout(0.01, False):
        seen.client.get("/slow")
    return [outcome != "" for outcome in seen.outcomes()]


# -- with-blocks


@_case
def _decided_by_user_code(seen: Seen) -> Any:
    client = seen.client
    with client.get("/x", catch_response=True) as response:
        response.failure("nope")
    with client.get("/x", catch_response=True) as response:
        response.failure({"other types": True})
    with client.get("/status/500", catch_response=True) as response:
        response.success()
    with client.get("/status/404", catch_response=True) as response:
        if response.status_code == 404:
            response.success()
    with client.get("/x", catch_response=True) as response:
        response.failure("nope")
        response.success()
        response.failure("no")
        response.success()
    with client.get("/x", catch_response=True):
        raise ResponseError("not working")
    return seen.outcomes()


@_case
def _decided_by_the_reply(seen: Seen) -> Any:
    client = seen.client
    with client.get("/x", catch_response=True) as response:
        body = response.json()["path"]
    with client.get("/status/500", catch_response=True):
        pass
    return [body, seen.outcomes()]


@_case
def _decided_without_a_reply(seen: Seen) -> Any:
    client = seen.user(NOBODY).client
    with client.get("/", catch_response=True) as response:
        found = [response.status_code, response.content]
        response.success()
    with client.get("/", catch_response=True) as response:
        response.failure("by hand")
    return [found, seen.outcomes()]


@_case
def _decided_before_another_exception(seen: Seen) -> Any:
    def act() -> None:
        with seen.client.get("/status/500", catch_response=True) as response:
            response.success()
            raise KeyError("x")

    return [_raised(act, KeyError), seen.outcomes()]


@_case
def _a_changed_report(seen: Seen) -> Any:
    with seen.client.get("/x", catch_response=True) as response:
        response.request_meta["name"] = "changed"
        response.request_meta["response_time"] = 7.0
    return [seen.events[0]["name"], seen.events[0]["response_time"]]


@_case
def _interrupted(seen: Seen) -> Any:
    class Tasks(TaskSet):
        @task
        def interrupted(self) -> None:
            with self.client.get("/x", catch_response=True):
                raise InterruptTaskSet()  # type: ignore[no-untyped-call]

    user = seen.user(tasks=[Tasks])
    return [_raised(lambda: Tasks(user).interrupted(), InterruptTaskSet), seen.outcomes()]


@_case
def _no_with_block(seen: Seen) -> Any:
    response = seen.client.get("/status/500", catch_response=True)
    return [_raised(response.success, LocustError), _raised(lambda: response.failure(""), LocustError)]


@_case
def _no_catch_response(seen: Seen) -> Any:
    def act() -> None:
        with seen.client.get("/status/500") as response:
            response.success()

    return [_raised(act, LocustError), _raised(seen.client.get("/x").success, LocustError)]


@_case
def _rest(seen: Seen) -> Any:
    user = seen.user()
    with user.rest("POST", "/x", json={"foo": "bar"}) as response:
        assert response.js["body"] == '{"foo": "bar"}'
    with user.rest("POST", "/x", json={"foo": "bar"}) as response:
        assert response.js["body"] == "nope"
    with user.rest("GET", "/status/204"):
        pass
    with user.rest_("GET", "/x") as response:
        assert "_=" in response.js["path"]
    return [seen.outcomes(), isinstance(seen.events[1]["exception"], CatchResponseError), seen.names()[3]]


# -- streams


@_case
def _a_stream_is_reported_before_its_end(seen: Seen) -> Any:
    client = seen.client
    response = client.get("/held", stream=True)
    reported = len(seen.events)
    client.get("/release")
    return [reported, response.content.decode().splitlines()[-1]]


@_case
def _a_stream_in_a_with_block(seen: Seen) -> Any:
    with seen.client.get("/lines", stream=True, catch_response=True) as response:
        read = response.stream.read().decode().splitlines()
        response.failure("some error")
    return [len(read), seen.outcomes()]


@_case
def _a_stream_in_pieces(seen: Seen) -> Any:
    client = seen.client
    response = client.get("/lines", stream=True)
    first = response.stream.read(4)
    pieces = "".join(client.get("/lines", stream=True).iter_content(chunk_size=7))
    return [first.decode(), response.stream.readline(b"\n").decode(), pieces.count("\n")]


@_case
def _lines(seen: Seen) -> Any:
    client = seen.client
    return [list(client.iter_lines("/lines")), [*client.iter_lines("/lines", method="POST", name="posted")][-1], seen.names()]


@_case
def _an_error_instead_of_lines(seen: Seen) -> Any:
    return _raised(lambda: list(seen.client.iter_lines("/status/500")), Exception)


@_case
def _a_stream_that_is_left(seen: Seen) -> Any:
    client = seen.client
    before = client.get("/x").json()["connection"]
    client.get("/lines", stream=True).stream.read()
    kept = client.get("/x").json()["connection"] == before
    client.get("/trickle", stream=True).stream.read(3)
    return [kept, client.get("/x").json()["connection"] != before]


# -- connections


@_case
def _users_with_connections_of_their_own(seen: Seen) -> Any:
    one, two = seen.user(), seen.user()
    numbers = [user.client.get("/x").json()["connection"] for user in (one, two, two, one)]
    return [numbers[0] == numbers[3], numbers[1] == numbers[2], numbers[0] == numbers[1]]


@_case
def _users_who_share_connections(seen: Seen) -> Any:
    pool = HTTPClientPool(concurrency=1)
    one, two = seen.user(client_pool=pool), seen.user(client_pool=pool)
    return len({user.client.get("/x").json()["connection"] for user in (one, two, two, one)})


@_case
def _requests_at_the_same_time(seen: Seen) -> Any:
    client, found = seen.client, []
    pool = gevent.pool.Pool()
    for _ in range(20):
        pool.spawn(lambda: found.append(client.get("/slow").json()["connection"]))
    pool.join()
    return [len(found), len(set(found)) == 10]


@_case
def _any_certificate(seen: Seen) -> Any:
    return [seen.user(seen.tls).client.get("/ok").text, seen.user(seen.tls, insecure=False).client.get("/ok").status_code]


@_case
def _tls_of_user_code(seen: Seen) -> Any:
    def contradictory() -> Any:
        context = gevent.ssl.create_default_context()
        context.verify_mode = gevent.ssl.CERT_NONE
        return context

    def of_any() -> Any:
        context = gevent.ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, gevent.ssl.CERT_NONE
        return context

    bad = seen.user(seen.tls, ssl_context_factory=staticmethod(contradictory)).client
    return [
        _raised(lambda: bad.get("/ok"), ValueError),
        seen.user(seen.tls, ssl_context_factory=staticmethod(of_any)).client.get("/ok").text,
    ]


@_case
def _a_base_class_is_no_user(seen: Seen) -> Any:
    return [seen.kind.abstract, is_user_class(seen.kind)]


# -- what a FastHttpUser does not know


@_http_case
def _timeout_of_a_request(seen: Seen) -> Any:
    client = seen.client
    client.get("/slow", timeout=0.01)
    client.get("/slow", timeout=(3, 0.01))
    client.get("/slow", timeout=30)
    with client.get("/slow", timeout=0.01, catch_response=True) as response:
        found = response.status_code
    return [found, [outcome != "" for outcome in seen.outcomes()]]


@_http_case
def _certificates(seen: Seen) -> Any:
    client = seen.user(seen.tls).client
    first = client.get("/ok", verify=False).text
    client.verify = False
    return [first, client.get("/ok").text, client.get("/ok", verify=True).status_code]


@_http_case
def _headers_of_all_requests(seen: Seen) -> Any:
    client = seen.client
    client.headers["X-All"] = "1"
    client.headers.update({"X-More": "2"})
    sent = client.get("/x", headers={"x-all": "3"}).json()["headers"]
    without = client.get("/x", headers={"X-All": None}).json()["headers"]
    return [sent["x-all"], sent["x-more"], "x-all" in without]


@_http_case
def _credentials_of_all_requests(seen: Seen) -> Any:
    client = seen.client
    client.auth = ("locust", "menace")
    return client.get("/auth-needed").status_code


@_http_case
def _cookies_by_name(seen: Seen) -> Any:
    client = seen.client
    response = client.get("/set-cookie")
    client.cookies.set("own", "1")
    sent = client.get("/x", cookies={"once": "2"}).json()["headers"]["cookie"]
    later = client.get("/x").json()["headers"]["cookie"]
    client.cookies.clear()
    return [response.cookies["seat"], client.cookies.get("seat"), sorted(sent.split("; ")), sorted(later.split("; ")),
            "cookie" in client.get("/x").json()["headers"]]  # fmt: skip


@_http_case
def _bodies(seen: Seen) -> Any:
    client = seen.client
    given: list[Any] = [[("a", 1), ("a", 2)], {"a": ["x", "y"], "b": None}, io.BytesIO(b"file"), b"bytes", "text"]
    return [client.post("/x", data=each).json()["body"] for each in given]


@_http_case
def _uploads(seen: Seen) -> Any:
    files: list[Any] = [{"f": io.BytesIO(b"data")}, [("f", ("a.bin", b"data", "image/png"))]]
    sent = [seen.client.post("/x", files=each).json() for each in files]
    return ["data" in sent[0]["body"], "Content-Type: image/png" in sent[1]["body"]]


@_http_case
def _before_a_redirect(seen: Seen) -> Any:
    response = seen.client.get("/twice")
    return [[each.status_code for each in response.history], response.reason, response.url == f"{seen.url}/landed"]


@_http_case
def _lines_of_a_response(seen: Seen) -> Any:
    return [line.decode() for line in seen.client.get("/lines", stream=True).iter_lines()]


@_http_case
def _addresses_of_no_form(seen: Seen) -> Any:
    hosts = ("http://\x94", "telnet://127.0.0.1", "127.0.0.1")
    return [_raised(lambda host=host: seen.user(host).client.get("/"), ValueError) for host in hosts]  # type: ignore[misc]


@_http_case
def _responses_of_events(seen: Seen) -> Any:
    client = seen.client
    client.get("/method", context={"foo": "bar"})
    client.get("/status/404")
    return [[fired["response"].text, fired["context"]] for fired in seen.events]


@pytest.mark.parametrize(
    ("locusts", "case"),
    [
        *(pytest.param(locust.FastHttpUser, case, id=f"fast: {name}") for name, case in CASES.items()),
        *(pytest.param(locust.HttpUser, case, id=f"requests: {name}") for name, case in HTTP_CASES.items()),
    ],
)
def test_user_code_sees_the_same_as_with_the_class_of_locust(locusts: Any, case: Case, echo: str, tls: str) -> None:
    assert case(Seen(LeanHttpUser, echo, tls)) == case(Seen(locusts, echo, tls))


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("proxies", lambda client: client.get("/x", proxies={"http": "http://127.0.0.1:1"})),
        ("cert", lambda client: client.get("/x", cert="client.pem")),
        ("hooks", lambda client: client.get("/x", hooks={"response": print})),
        ("max_retries", lambda client: client.get("/x", max_retries=3)),
        ("auth", lambda client: client.get("/x", auth=object())),
        ("data", lambda client: client.post("/x", data=iter([b"piece"]))),
        ("colour", lambda client: client.get("/x", colour="red")),
        ("mount", lambda client: client.mount("http://", None)),
        ("proxies", lambda client: setattr(client, "proxies", {"http": "http://127.0.0.1:1"})),
    ],
)
def test_what_a_lean_client_does_not_do_is_refused_with_its_place(name: str, act: Any, echo: str, tls: str) -> None:
    with pytest.raises(LeanRefusal) as refused:
        act(Seen(LeanHttpUser, echo, tls).client)
    place = f"test_drop_in.py:{act.__code__.co_firstlineno}"
    assert str(refused.value).startswith(f"{place}: LeanHttpUser does not take `{name}`, ")
    assert "\n" not in str(refused.value)

"""Figures that servers (nginx, PostgreSQL, Redis, StatsD, Prometheus exporters) give of themselves, and refusals of servers."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import msgspec
import pytest
import redis
from kit.servers import tcp_server
from programs import needs

from capexplorer.model.watched import PartSpec
from capexplorer.read.metrics import samples
from capexplorer.read.parts_process import ServerThread
from capexplorer.read.servers import (
    LABELS_MOST,
    PAGE_BYTES_MOST,
    SERIES_MOST,
    Nginx,
    Postgres,
    Prometheus,
    Rates,
    Redis,
    Server,
    ServerRefused,
    Statsd,
    Totals,
    of_stub_status,
    servers_of,
    sums,
)
from lab.kit.servers import free_port

STUB_STATUS = """Active connections: 291
server accepts handled requests
 16630948 16630940 31070465
Reading: 6 Writing: 179 Waiting: 106
"""

EXPORTER = """# TYPE pg_locks gauge
pg_locks{mode="share"} 3
pg_locks{mode="exclusive"} 4
# TYPE http_requests_total counter
http_requests_total{code="200"} 10
http_requests_total{code="500"} 2
# TYPE other gauge
other NaN
"""


def test_nginx_connections_that_were_accepted_and_not_handled_are_rejected_connections() -> None:
    values, counters = of_stub_status(STUB_STATUS)
    assert values == {"connections": 291.0, "reading": 6.0, "writing": 179.0, "waiting": 106.0}
    assert counters == {"rejected_connections": 8.0, "requests": 31070465.0}
    with pytest.raises(ValueError, match="not one of stub_status"):
        of_stub_status("<html>welcome</html>")


def test_chosen_metrics_of_an_exporter_are_summed_over_their_labels() -> None:
    values, counters = sums(samples(EXPORTER), ("pg_locks", "http_requests_total", "other"))
    assert (values, counters) == ({"pg_locks": 7.0}, {"http_requests_total": 12.0})


PAGE = """# TYPE pool_pending gauge
pool_pending{{pool="a"}} {pending}
pool_pending{{pool="b"}} 0
# TYPE wait_seconds histogram
wait_seconds_bucket{{le="0.1"}} 4
wait_seconds_sum {total}
wait_seconds_count {count}
wait_seconds_created 1.7e9
# TYPE gc_seconds summary
gc_seconds{{quantile="0.5"}} 0.1
# TYPE requests_total counter
""" + "\n".join(f'requests_total{{{{path="/{number}"}}}} {{each}}' for number in range(LABELS_MOST + 1))


def figures(server: Prometheus, page: str) -> dict[str, float]:
    return server.figures(list(samples(page)))


def test_all_series_of_a_page_are_kept_with_their_labels_and_those_of_many_labels_are_summed() -> None:
    now = iter((10.0, 12.0))
    server = Prometheus("http://unused", clock=lambda: next(now))
    first = figures(server, PAGE.format(pending=0, total=1.5, count=10, each=2))
    assert first == {'pool_pending{pool="a"}': 0.0, 'pool_pending{pool="b"}': 0.0}
    assert figures(server, PAGE.format(pending=7, total=2.25, count=13, each=3)) == {
        'pool_pending{pool="a"}': 7.0,
        'pool_pending{pool="b"}': 0.0,
        "wait_seconds_mean": 0.25,
        "wait_seconds_count_per_s": 1.5,
        "requests_total_per_s": (LABELS_MOST + 1) / 2,
    }


def test_a_page_with_too_many_series_says_how_many_are_left_out() -> None:
    found = figures(Prometheus("http://unused"), "".join(f"metric_{number} 1\n" for number in range(SERIES_MOST + 3)))
    assert len(found) == SERIES_MOST + 1
    assert found["series_left_out"] == 3.0


VLLM = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 6.0
vllm:num_requests_running{engine="1",model_name="m"} 7.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting{engine="1",model_name="m"} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.97
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} %d
"""


@pytest.mark.parametrize("names", [(), ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:num_preemptions_total")])
def test_an_engines_counts_have_names_that_rules_know_too(names: tuple[str, ...]) -> None:
    times = iter((10.0, 12.0))
    server = Prometheus("http://h/metrics", names, lambda: next(times))
    server.figures(list(samples(VLLM % 4)))
    found = server.figures(list(samples(VLLM % 9)))
    known = {"requests_running": 13.0, "requests_waiting": 3.0, "preemptions_per_s": 2.5}
    assert {name: found[name] for name in known} == known
    assert found.get("kv_cache_ratio") == (None if names else 0.97)


def test_counters_of_parts_of_seconds_keep_their_fractions() -> None:
    """They were cut to whole numbers before, so that a sum of seconds grew by nothing or by one."""
    now = iter((1.0, 2.0))
    server = Prometheus("http://unused", ("cpu_seconds_sum",), lambda: next(now))
    figures(server, "cpu_seconds_sum 1.2\n")
    assert figures(server, "cpu_seconds_sum 1.45\n") == {"cpu_seconds_sum_per_s": pytest.approx(0.25)}


def test_counters_become_rates_and_a_counter_that_decreased_has_none() -> None:
    now = iter((10.0, 12.0, 13.0))
    rates = Rates(lambda: next(now))
    for count, expected, case in (
        (100.0, {}, "first value"),
        (110.0, {"requests_per_s": 5.0}, "10 more in 2 s"),
        (3.0, {}, "the server was restarted"),
    ):
        assert rates.of({"requests": count}) == expected, case


def test_servers_of_a_part_are_those_with_a_url_in_its_spec() -> None:
    spec = PartSpec(name="db", postgres="postgresql://db/x", redis="redis://db")
    assert set(servers_of(spec)) == {"postgres", "redis"}
    assert not spec.has_reader, "a part that has only servers needs no reader process"


NAMES_MOST = 32

STATSD: dict[str, tuple[list[bytes], dict[str, float]]] = {  # to the figures over two seconds without datagrams_per_s
    "a sampled counter": ([b"requests:1|c|@1.0", b"requests:1|c|@0.5"], {"requests_per_s": 1.5}),
    "a gauge that is set and changed": ([b"workers:4|g", b"workers:-1|g|#a:b"], {"workers": 3.0}),
    "the mean of a timer": ([b"duration:10.5|ms\nduration:20.5|ms"], {"duration_ms": 15.5}),
    "no metrics": ([b"\xff\x00", b"a b:1|c", b"x:nan|c", b"x:1|c|@0", b"x:1|c|@.0", b"", b":1|c", b"x" * 200 + b":1|c"], {}),
    "too many names": ([f"n{index}:1|g".encode() for index in range(99)], {f"n{index}": 1.0 for index in range(NAMES_MOST)}),
}


@pytest.mark.parametrize("case", STATSD)
def test_what_arrives_by_statsd_becomes_figures(case: str) -> None:
    datagrams, figures = STATSD[case]
    totals = Totals()
    for datagram in datagrams:
        totals.add(datagram)
    assert totals.take(2.0, dropped=0) == {"datagrams_per_s": len(datagrams) / 2} | figures


def test_statsd_gauges_and_timers_are_missing_from_a_second_without_datagrams_and_counters_from_one_with_losses() -> None:
    totals = Totals()
    totals.add(b"requests:1|c\nworkers:3|g\nduration:10.5|ms")
    totals.take(1.0, dropped=0)
    assert totals.take(1.0, dropped=0) == {"datagrams_per_s": 0.0, "requests_per_s": 0.0}
    totals.add(b"requests:1|c")
    assert totals.take(1.0, dropped=7) == {"datagrams_per_s": 1.0, "dropped_datagrams": 7.0, "workers": 3.0}


def test_statsd_figures_of_a_real_gunicorn_are_received(tmp_path: Path) -> None:
    sockets = [socket.socket(socket.AF_INET, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    http, statsd = (each.getsockname()[1] for each in sockets)  # free ports, since these sockets are closed
    for each in sockets:
        each.close()
    (tmp_path / "app.py").write_text("def app(environ, start):\n    start('200 OK', [])\n    return [b'done']\n")
    server = Statsd(f"udp://127.0.0.1:{statsd}")
    words = ["-m", "gunicorn", "-w", "1", "-b", f"127.0.0.1:{http}", "--statsd-host", f"127.0.0.1:{statsd}", "app:app"]
    wanted = {"gunicorn.workers", "gunicorn.request.duration_ms", "gunicorn.request.status.200_per_s"}
    seen: dict[str, float] = {}
    with subprocess.Popen([sys.executable, *words], cwd=tmp_path, stderr=subprocess.DEVNULL) as service:
        try:
            deadline_s = time.monotonic() + 60
            while seen.get("gunicorn.requests_per_s", 0.0) == 0.0 or not wanted <= seen.keys():
                assert time.monotonic() < deadline_s, f"figures are missing: {seen}"
                with suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{http}/", timeout=5).close()
                time.sleep(0.02)
                seen |= server.read()
        finally:
            service.terminate()
            server.close()
    assert seen["gunicorn.workers"] == 1.0


@pytest.mark.parametrize("url", ["udp://0.0.0.0:8125", "udp://10.0.0.1:8125", "http://127.0.0.1:8125", "udp://127.0.0.1"])
def test_a_statsd_url_must_be_udp_on_a_loopback_address_with_a_port(url: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": "web", "statsd": url}, PartSpec)


def nginx_response(accepted: int, handled: int) -> bytes:
    """A response with the page of stub_status."""
    page = f"Active connections: 9\nserver accepts handled requests\n {accepted} {handled} 90\nReading: 0 Writing: 9 Waiting: 0\n"
    return f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(page)}\r\n\r\n{page}".encode()


def test_nginx_that_closes_a_connection_without_a_response_refuses_and_its_counters_continue() -> None:
    """So does nginx when all of its worker_connections are in use."""
    responses = [b"", nginx_response(10, 10), b"", nginx_response(40, 22)]

    with tcp_server(lambda connection, _: connection.sendall(responses.pop(0))) as port:
        server = Nginx(f"http://127.0.0.1:{port}/")
        with pytest.raises(httpx.HTTPError):  # it has never sent a page of stub_status, so it need not be nginx
            server.read()
        assert server.read()["refused_readings"] == 0.0
        with pytest.raises(ServerRefused):
            server.read()
        assert server.read()["rejected_connections_per_s"] > 0.0, "those since the last response are counted"


def endless(connection: socket.socket) -> Iterator[int]:
    """A page that never ends, in pieces of 64 KB."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        yield connection.send(b"# comment\n" * 6_554)


def trickling(connection: socket.socket) -> Iterator[int]:
    """A page of which a byte arrives ten times a second."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        time.sleep(0.1)
        yield connection.send(b"#")


def compressed(connection: socket.socket) -> Iterator[int]:
    """A page that is a thousand times as long as what is sent."""
    body = gzip.compress(bytes(1 << 24))
    yield connection.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


@pytest.mark.parametrize(
    ("send", "why"), [(endless, "more than 8 MiB"), (trickling, "not ended within 2 s"), (compressed, "compressed")]
)
@pytest.mark.parametrize("kind", ["nginx", "prometheus"])
def test_a_page_is_refused_while_it_arrives(kind: str, send: Callable[[socket.socket], Iterator[int]], why: str) -> None:
    sent: list[int] = []

    def respond(connection: socket.socket, _: bytes) -> None:
        try:
            sent.extend(send(connection))
        finally:
            has_responded.set()

    has_responded = threading.Event()
    with tcp_server(respond) as port:
        with pytest.raises(ValueError, match=why):
            reader_of(kind, f"http://127.0.0.1:{port}/").read()
        has_responded.wait()
    assert sum(sent) < 4 * PAGE_BYTES_MOST, "what the buffers of the connection take is sent as well"


def reader_of(kind: str, url: str) -> Server:
    return Nginx(url) if kind == "nginx" else Prometheus(url, ["up"])


@pytest.mark.parametrize(
    ("message", "exception"),
    [
        ("connection failed: FATAL:  sorry, too many clients already", "ServerRefused"),
        ("FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute", "ServerRefused"),
        ('FATAL:  too many connections for role "shop"', "ServerRefused"),
        ('FATAL:  password authentication failed for user "shop"', "OperationalError"),
    ],
)
def test_postgres_errors_for_lack_of_connections_are_refusals_and_others_are_not(
    message: str, exception: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    psycopg = pytest.importorskip("psycopg", reason="pip install 'capexplorer[postgres]'")

    def connect(*_: object, **__: object) -> None:
        raise psycopg.OperationalError(message)

    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(Exception, match=message.split("  ")[1][:20]) as error:
        Postgres("postgresql://db/x").read()
    assert type(error.value).__name__ == exception


def test_a_refusal_is_a_reading_with_the_servers_message_until_the_next_answer() -> None:
    class ServerThatIsFullAtFirst:
        is_full = True

        def read(self) -> dict[str, float]:
            if not self.is_full:
                return {"connections": 3.0}
            self.is_full = False
            raise ServerRefused("too many clients")

    answered, wake = os.pipe()
    thread = ServerThread("postgres", ServerThatIsFullAtFirst, wake)
    for figures_by_name, reason in (
        ({"refused_readings": 1.0}, "postgres: too many clients"),
        ({"connections": 3.0}, None),
    ):
        thread.ask()
        os.read(answered, 1)  # waits for the thread
        assert thread.take() == figures_by_name
        assert thread.why == reason


@needs("redis-server")
def test_redis_at_its_limit_of_clients_reports_rejected_connections_and_refuses_a_new_reader() -> None:
    port = free_port()
    words = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--maxclients", "3", "--save", ""]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        try:
            server = Redis(f"redis://127.0.0.1:{port}")
            before = first_figures(server)
            assert before["connections"] == 1.0, "the reader"
            assert before["connections_limit"] == 3.0
            clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
            for beyond_limit in clients[2:]:
                assert beyond_limit.recv(64).startswith(b"-ERR max number of clients")
            now = server.read()
            assert now["connections"] == 3.0
            assert now["rejected_connections_per_s"] > 0.0
            with pytest.raises(ServerRefused):
                Redis(f"redis://127.0.0.1:{port}").read()
            for each in clients:
                each.close()
        finally:
            process.kill()


def first_figures(server: Redis) -> dict[str, float]:
    """The first figures of a server that was just started; waits until it answers."""
    deadline_s = time.monotonic() + 60
    while True:
        try:
            return server.read()
        except redis.ConnectionError:
            assert time.monotonic() < deadline_s, "Redis does not answer"
            time.sleep(0.02)

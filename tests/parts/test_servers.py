"""Servers' own figures: pages in, figures out; and a real server that refuses connections."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import httpx
import msgspec
import pytest
import redis
from programs import needs

from capexplorer.model.watched import PartSpec
from capexplorer.parts.server_threads import ServerThread
from capexplorer.parts.servers import ServerRefused, servers_of
from capexplorer.parts.servers.nginx import Nginx, figures
from capexplorer.parts.servers.rate import Rates
from capexplorer.parts.servers.redis import Redis
from capexplorer.parts.servers.statsd import Statsd, Totals

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


def test_nginx_counts_connections_that_it_closed_for_lack_of_room_as_rejected() -> None:
    values, counters = figures(STUB_STATUS)
    assert values == {"connections": 291.0, "reading": 6.0, "writing": 179.0, "waiting": 106.0}
    assert counters == {"rejected_connections": 8.0, "requests": 31070465.0}


def test_another_page_than_nginxs_is_refused() -> None:
    with pytest.raises(ValueError, match="not one of stub_status"):
        figures("<html>welcome</html>")


def test_chosen_metrics_of_an_exporter_are_summed_over_their_labels() -> None:
    pytest.importorskip("prometheus_client", reason="pip install 'capexplorer[prometheus]'")
    from capexplorer.parts.servers.prometheus import sums

    values, counters = sums(EXPORTER, ("pg_locks", "http_requests_total", "other"))
    assert (values, counters) == ({"pg_locks": 7.0}, {"http_requests_total": 12.0})


def test_counters_become_growth_per_second_and_a_restart_is_not_growth() -> None:
    now = iter((10.0, 12.0, 13.0))
    rates = Rates(lambda: next(now))
    found = []
    for count in (100.0, 110.0, 3.0):
        rates.tick()
        found.append(rates.of("requests", count))
    assert found == [{}, {"requests_per_s": 5.0}, {}]


def test_a_part_has_the_servers_that_it_names() -> None:
    watch = PartSpec(name="db", postgres="postgresql://db/x", redis="redis://db")
    assert set(servers_of(watch)) == {"postgres", "redis"}
    assert not watch.has_reader, "no reader is sent to this machine for a server that is elsewhere"


def test_statsd_counts_grow_per_second_gauges_stay_and_timers_are_means() -> None:
    totals = Totals()
    for text in (
        b"gunicorn.requests:1|c|@1.0",
        b"gunicorn.requests:1|c|@0.5\ngunicorn.workers:4|g",
        b"gunicorn.workers:-1|g|#a:b",
    ):
        totals.add(text)
    totals.add(b"gunicorn.request.duration:10.5|ms\ngunicorn.request.duration:20.5|ms")
    first = {
        "datagrams_per_s": 2.0,
        "gunicorn.requests_per_s": 1.5,
        "gunicorn.workers": 3.0,
        "gunicorn.request.duration_ms": 15.5,
    }
    assert totals.take(2.0, dropped=0) == first
    assert totals.take(1.0, dropped=0) == {"datagrams_per_s": 0.0, "gunicorn.requests_per_s": 0.0}, (
        "nothing old in a silent second"
    )
    totals.add(b"gunicorn.requests:1|c")
    assert totals.take(1.0, dropped=7) == {"datagrams_per_s": 1.0, "dropped_datagrams": 7.0, "gunicorn.workers": 3.0}


def test_statsd_skips_lines_that_are_not_metrics_and_keeps_a_bounded_number_of_names() -> None:
    totals = Totals()
    for text in (b"\xff\x00", b"a b:1|c", b"x:nan|c", b"x:1|c|@0", b"x:1|c|@.0", b"", b":1|c", b"x" * 200 + b":1|c"):
        totals.add(text)
    assert totals.take(1.0, dropped=0) == {"datagrams_per_s": 8.0}
    for index in range(100):
        totals.add(f"name{index}:1|g".encode())
    assert len(totals.take(1.0, dropped=0)) == 33


def test_gunicorn_reports_its_requests_to_the_part_that_listens(tmp_path: Path) -> None:
    ports = [socket.socket(socket.AF_INET, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
    for each in ports:
        each.bind(("127.0.0.1", 0))
    http, statsd = (each.getsockname()[1] for each in ports)
    for each in ports:
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
                assert time.monotonic() < deadline_s, seen
                with suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{http}/", timeout=5).close()
                time.sleep(0.02)
                seen |= server.read()
        finally:
            service.terminate()
            server.close()
    assert seen["gunicorn.workers"] == 1.0


@pytest.mark.parametrize("url", ["udp://0.0.0.0:8125", "udp://10.0.0.1:8125", "http://127.0.0.1:8125", "udp://127.0.0.1"])
def test_statsd_is_received_on_loopback_alone(url: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": "web", "statsd": url}, PartSpec)


def status(accepted: int, handled: int) -> bytes:
    page = f"Active connections: 9\nserver accepts handled requests\n {accepted} {handled} 90\nReading: 0 Writing: 9 Waiting: 0\n"
    return f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(page)}\r\n\r\n{page}".encode()


def test_nginx_that_closes_the_readers_connection_refuses_it_and_its_counters_go_on_from_the_last_answer() -> None:
    """Without worker_connections nginx accepts, and closes without a word."""
    answers = [status(10, 10), b"", status(40, 22)]

    def answer(listener: socket.socket) -> None:
        for each in answers:
            connection = listener.accept()[0]
            connection.recv(1 << 12)
            connection.sendall(each)
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        server = Nginx(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        assert server.read()["refused_readings"] == 0.0
        with pytest.raises(ServerRefused):
            server.read()
        assert server.read()["rejected_connections_per_s"] > 0.0, "those of the seconds in which nobody could ask"


def test_a_server_that_closes_the_first_connection_is_no_nginx_without_room() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=lambda: listener.accept()[0].close(), daemon=True).start()
        with pytest.raises(httpx.HTTPError):
            Nginx(f"http://127.0.0.1:{listener.getsockname()[1]}/").read()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("connection failed: FATAL:  sorry, too many clients already", "ServerRefused"),
        ("FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute", "ServerRefused"),
        ('FATAL:  too many connections for role "shop"', "ServerRefused"),
        ('FATAL:  password authentication failed for user "shop"', "OperationalError"),
    ],
)
def test_postgres_that_lets_the_reader_in_no_more_refuses_it(said: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    psycopg = pytest.importorskip("psycopg", reason="pip install 'capexplorer[postgres]'")
    from capexplorer.parts.servers.postgres import Postgres

    def connect(*_: object, **__: object) -> None:
        raise psycopg.OperationalError(said)

    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(Exception, match=said.split("  ")[1][:20]) as error:
        Postgres("postgresql://db/x").read()
    assert type(error.value).__name__ == expected


def test_a_refusal_is_a_reading_with_the_servers_words_and_the_next_answer_takes_them_back() -> None:
    class Full:
        is_full = True

        def read(self) -> dict[str, float]:
            if not self.is_full:
                return {"connections": 3.0}
            self.is_full = False
            raise ServerRefused("too many clients")

    woken, wake = os.pipe()
    thread = ServerThread("postgres", Full, wake)
    found = []
    for _ in range(2):
        thread.ask()
        os.read(woken, 1)
        found.append((thread.take(), thread.why))
    assert found == [({"refused_readings": 1.0}, "postgres: too many clients"), ({"connections": 3.0}, None)]


@needs("redis-server")
def test_redis_counts_clients_up_to_its_limit_and_refuses_a_reader_beyond_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    words = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--maxclients", "3", "--save", ""]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        try:
            server = Redis(f"redis://127.0.0.1:{port}")
            before = until_it_answers(server)
            assert (before["connections"], before["connections_limit"]) == (1.0, 3.0)
            clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
            assert all(each.recv(64).startswith(b"-ERR max number of clients") for each in clients[2:])
            now = server.read()
            assert now["connections"] == 3.0 and now["rejected_connections_per_s"] > 0.0
            with pytest.raises(ServerRefused):
                Redis(f"redis://127.0.0.1:{port}").read()
            for each in clients:
                each.close()
        finally:
            process.kill()


def until_it_answers(server: Redis) -> dict[str, float]:
    """The first figures of a server that is starting."""
    deadline_s = time.monotonic() + 60
    while True:
        try:
            return server.read()
        except redis.ConnectionError:
            assert time.monotonic() < deadline_s, "Redis does not answer"
            time.sleep(0.02)

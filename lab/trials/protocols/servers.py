"""PostgreSQL, PgBouncer, Redis, mosquitto and a DNS server on free ports of loopback, each for the time of a `with` block. Those
that refuse to be run by root are run as the user `postgres`."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lab.kit.programs import find
from lab.kit.runs import wait_until
from lab.kit.servers import ended, free_port, listening

HERE = Path(__file__).parent
POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path())
"""Of the newest version, as Debian installs it."""


def _given(folder: Path) -> dict[str, object]:
    """A folder of the user `postgres`, and how to run a program as that user; nothing if this process is not root."""
    if os.geteuid():
        return {}
    entry = pwd.getpwnam("postgres")
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@contextmanager
def postgres(folder: Path, schema: str = "", **settings: object) -> Iterator[int]:
    """The port of a new cluster, which has a role `load` that cannot use reserved connections. `schema`: statements, after which
    it may use all tables."""
    folder.mkdir(mode=0o755)
    as_user, port, data = _given(folder), free_port(), folder / "data"
    initialise = [str(POSTGRES / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync"]
    subprocess.run(initialise, check=True, stdout=subprocess.DEVNULL, cwd=folder, **as_user)  # type: ignore[call-overload]
    own = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder, "fsync": "off", "jit": "off"}
    words = [word for name, value in {**own, "shared_buffers": "16MB", **settings}.items() for word in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        command = [str(POSTGRES / "postgres"), "-D", str(data), *words]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, **as_user)  # type: ignore[call-overload]
    with ended(process):
        ask = [str(POSTGRES / "psql"), "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-c"]
        make = f"create role load login; {schema}; grant all on all tables in schema public to load"
        wait_until(lambda: subprocess.run([*ask, ""], capture_output=True).returncode == 0, "a session of PostgreSQL", 30.0, 0.1)
        subprocess.run([*ask, make], check=True, stdout=subprocess.DEVNULL)
        yield port


@contextmanager
def pgbouncer(folder: Path, database: int, connections: int) -> Iterator[int]:
    """The port of a pool of so many connections to a database, whose clients take turns by transaction."""
    folder.mkdir(mode=0o755)
    as_user, port, file = _given(folder), free_port(), folder / "pgbouncer.ini"
    lines = (
        "[databases]", f"postgres = user=load host=127.0.0.1 port={database}",
        "[pgbouncer]", "listen_addr = 127.0.0.1", f"listen_port = {port}", "unix_socket_dir =", "auth_type = any",
        "pool_mode = transaction", f"default_pool_size = {connections}", "max_client_conn = 1000", "",
    )  # fmt: skip
    file.write_text("\n".join(lines), encoding="utf-8")
    command = [find("pgbouncer") or "", "-q", str(file)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **as_user)  # type: ignore[call-overload]
    with ended(process):
        ask = [str(POSTGRES / "psql"), "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "load", "-c", "", "postgres"]
        wait_until(lambda: subprocess.run(ask, capture_output=True).returncode == 0, "a session of PgBouncer", 30.0, 0.1)
        yield port


@contextmanager
def redis(*settings: str) -> Iterator[int]:
    """The port of a server that saves nothing. `settings`: words such as `--maxclients`, `12`."""
    port = free_port()
    with listening([find("redis-server") or "", "--port", str(port), "--bind", "127.0.0.1", "--save", "", *settings], port):
        yield port


@contextmanager
def mosquitto(folder: Path, workers: int, sleep_ms: float, settings: Sequence[str] = ("allow_anonymous true",)) -> Iterator[int]:
    """The port of a broker, behind which a service answers questions on the topic `work`: so many at a time; 0: there is none.
    `settings`: lines of its configuration."""
    folder.mkdir(mode=0o755)
    port, file = free_port(), folder / "mosquitto.conf"
    file.write_text("\n".join((f"listener {port} 127.0.0.1", *settings, "")), encoding="utf-8")
    words = [sys.executable, str(HERE / "mqtt_worker.py"), str(port), str(workers), str(sleep_ms)]
    with ExitStack() as stack:
        stack.enter_context(listening([find("mosquitto") or "", "-c", str(file)], port))
        if workers:
            worker = stack.enter_context(ended(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)))
            assert worker.stdout is not None
            with worker.stdout:
                worker.stdout.readline()
        yield port


@contextmanager
def dns(*options: str) -> Iterator[int]:
    """The port of `dns_server.py`."""
    port = free_port()
    with listening([sys.executable, str(HERE / "dns_server.py"), str(port), *options], port):
        yield port

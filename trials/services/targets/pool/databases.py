"""Databases of one run, each a child process with a socket in a folder of its own, that no one else can reach."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

FOLDER = Path(os.environ.get("DATABASES", "/nowhere"))
DSN = f"host={FOLDER} dbname=postgres user=postgres"
REDIS_SOCKET = FOLDER / "redis.sock"

PLACES, PREFIX = Path(tempfile.gettempdir()), "pool-"

POSTGRES = max((str(path) for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")), default=None)

SETTINGS = ("listen_addresses=", "fsync=off", "shared_buffers=16MB", "jit=off")


def postgresql(folder: Path, max_connections: int = 100, *, superuser: bool = True) -> None:
    """A fresh cluster that runs, owned by the user `postgres` if this one is root; not `superuser`: with a role `service`."""
    place = _place(folder)
    if POSTGRES is None:
        sys.exit("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    user: str | None = None
    if os.geteuid() == 0:
        user, entry = "postgres", pwd.getpwnam("postgres")
        os.chown(place, entry.pw_uid, entry.pw_gid)
    data = place / "data"
    programs = Path(POSTGRES).parent
    initialise = [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync"]
    subprocess.run(initialise, check=True, user=user, extra_groups=[] if user else None, stdout=subprocess.DEVNULL, cwd=place)
    options = [
        word
        for setting in (*SETTINGS, f"max_connections={max_connections}", f"unix_socket_directories={place}")
        for word in ("-c", setting)
    ]
    server = subprocess.Popen([POSTGRES, "-D", str(data), *options], user=user, extra_groups=[] if user else None, cwd=place)
    _wait_for(place / ".s.PGSQL.5432", server)
    if not superuser:
        _role(place)


def redis(folder: Path) -> None:
    """A Redis that keeps nothing."""
    place = _place(folder)
    words = ["redis-server", "--port", "0", "--unixsocket", str(place / "redis.sock"), "--save", "", "--daemonize", "no"]
    server = subprocess.Popen([*words, "--dir", str(place), "--loglevel", "warning"])
    _wait_for(place / "redis.sock", server)


def _place(folder: Path) -> Path:
    """A folder with a short path, since names of sockets have at most 107 bytes."""
    remove_leftovers()
    place = PLACES / f"{PREFIX}{os.getpid()}"
    place.mkdir(mode=0o755)
    os.environ["DATABASES"] = str(place)
    return place


def remove_leftovers() -> None:
    """Remove the folders of services that have ended: their processes were killed, and nobody else knows them."""
    for place in PLACES.glob(f"{PREFIX}*"):
        if not Path("/proc", place.name.removeprefix(PREFIX)).exists():
            shutil.rmtree(place, ignore_errors=True)


def _role(place: Path) -> None:
    """A role without the right to reserved connections, as services have."""
    while True:
        try:
            with psycopg.connect(f"host={place} dbname=postgres user=postgres") as connection:
                connection.execute("create role service login")
            return
        except psycopg.OperationalError:  # it is still starting
            time.sleep(0.05)


def _wait_for(socket: Path, server: subprocess.Popen[bytes]) -> None:
    while not socket.exists():
        if server.poll() is not None:
            sys.exit(f"the database ended with {server.returncode}")
        time.sleep(0.05)

"""Databases of one run: child processes that listen on a Unix socket in a folder of their own, so that no other run reaches
them."""

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
SERVICE_DSN = f"host={FOLDER} dbname=postgres user=service"
"""Of a role that cannot use reserved connections."""
REDIS_SOCKET = FOLDER / "redis.sock"

FOLDERS, PREFIX = Path(tempfile.gettempdir()), "pool-"

POSTGRES = max((str(path) for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")), default=None)

SETTINGS = ("listen_addresses=", "fsync=off", "shared_buffers=16MB", "jit=off")


def postgresql(folder: Path, max_connections: int = 100, *, superuser: bool = True) -> None:
    """Start a new PostgreSQL cluster, as the user `postgres` if this process is root. If not `superuser`, it has a role
    `service`, which cannot use reserved connections."""
    run_folder = _run_folder(folder)
    if POSTGRES is None:
        sys.exit("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    user: str | None = None
    if os.geteuid() == 0:
        user, entry = "postgres", pwd.getpwnam("postgres")
        os.chown(run_folder, entry.pw_uid, entry.pw_gid)
    data = run_folder / "data"
    programs = Path(POSTGRES).parent
    initialise = [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync"]
    subprocess.run(
        initialise, check=True, user=user, extra_groups=[] if user else None, stdout=subprocess.DEVNULL, cwd=run_folder
    )
    options = [
        word
        for setting in (*SETTINGS, f"max_connections={max_connections}", f"unix_socket_directories={run_folder}")
        for word in ("-c", setting)
    ]
    server = subprocess.Popen([POSTGRES, "-D", str(data), *options], user=user, extra_groups=[] if user else None, cwd=run_folder)
    _wait_for(run_folder / ".s.PGSQL.5432", server)
    if not superuser:
        _role(run_folder)


def redis(folder: Path) -> None:
    run_folder = _run_folder(folder)
    words = ["redis-server", "--port", "0", "--unixsocket", str(run_folder / "redis.sock"), "--save", "", "--daemonize", "no"]
    server = subprocess.Popen([*words, "--dir", str(run_folder), "--loglevel", "warning"])
    _wait_for(run_folder / "redis.sock", server)


def _run_folder(folder: Path) -> Path:
    """A folder with a short path, since names of sockets have at most 107 bytes."""
    remove_leftovers()
    run_folder = FOLDERS / f"{PREFIX}{os.getpid()}"
    run_folder.mkdir(mode=0o755)
    os.environ["DATABASES"] = str(run_folder)
    return run_folder


def remove_leftovers() -> None:
    """Remove the folders of earlier services that were killed, which could not remove them."""
    for run_folder in FOLDERS.glob(f"{PREFIX}*"):
        if not Path("/proc", run_folder.name.removeprefix(PREFIX)).exists():
            shutil.rmtree(run_folder, ignore_errors=True)


def _role(run_folder: Path) -> None:
    while True:
        try:
            with psycopg.connect(f"host={run_folder} dbname=postgres user=postgres") as connection:
                connection.execute("create role service login")
            return
        except psycopg.OperationalError:  # it is still starting
            time.sleep(0.05)


def _wait_for(socket: Path, server: subprocess.Popen[bytes]) -> None:
    while not socket.exists():
        if server.poll() is not None:
            sys.exit(f"the database ended with {server.returncode}")
        time.sleep(0.05)

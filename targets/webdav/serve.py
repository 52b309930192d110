"""Files and accounts as one service on loopback, by waitress. All its data is in FOLDER, where a restarted service finds it."""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import waitress
from accounts import Accounts, MemoryAccounts, SqliteAccounts
from cloud import create_cloud
from files import create_files

CONNECTIONS = 10_000
"""waitress accepts 100 connections by default, which would be the knee of every exploration with keep-alive."""

BACKLOG = 1024
FILES = "/remote.php/dav"

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


def main() -> None:
    options = _options()
    homes, manual = options.folder / "homes", options.folder / "manual.pdf"
    homes.mkdir(parents=True, exist_ok=True)
    _write_manual(manual, round(options.manual_mb * 1_000_000))
    accounts = _accounts(options.store, options.folder, options.hash_rounds)
    _remove_homes_without_account(homes, set(accounts.names()))
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # else it logs a line for each request that has to wait
    waitress.serve(
        _together(create_cloud(accounts, homes, manual), create_files(accounts, homes)),
        host="127.0.0.1",
        port=options.port,
        threads=options.threads,
        connection_limit=CONNECTIONS,
        backlog=BACKLOG,
        asyncore_use_poll=True,  # select() refuses descriptors from 1024 on
    )


def _accounts(store: str, folder: Path, hash_rounds: int) -> Accounts:
    if store == "postgresql":
        try:
            import database  # psycopg is an extra
        except ImportError as error:
            sys.exit(f"store=postgresql needs psycopg (pip install 'capexplorer[postgres]'): {error}")
        return database.PostgresAccounts(database.start(folder / "postgresql"), hash_rounds)
    return MemoryAccounts(hash_rounds) if store == "memory" else SqliteAccounts(folder / "accounts.sqlite", hash_rounds)


def _together(cloud: Application, files: Application) -> Application:
    """One application: paths below FILES go to `files`, all others to `cloud`."""

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if not path.startswith(FILES + "/"):
            return cloud(environ, start_response)
        environ["SCRIPT_NAME"] += FILES
        environ["PATH_INFO"] = path.removeprefix(FILES)
        return files(environ, start_response)

    return application


def _write_manual(path: Path, size: int) -> None:
    """Write a file of `size` bytes that begins and ends like a PDF."""
    head, tail = b"%PDF-1.4\n", b"\n%%EOF\n"
    path.write_bytes(head + b"\0" * max(0, size - len(head) - len(tail)) + tail)


def _remove_homes_without_account(homes: Path, names: set[str]) -> None:
    for home in homes.iterdir():
        if home.name not in names:
            shutil.rmtree(home, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where accounts and files are kept")
    parser.add_argument("--store", choices=["sqlite", "memory", "postgresql"], default="sqlite", help="where accounts are stored")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--manual-mb", type=float, default=5.0, help="size of the manual that each account gets")
    parser.add_argument(
        "--hash-rounds", type=int, default=20_000, help="rounds of PBKDF2-SHA256 for the password of each request"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()

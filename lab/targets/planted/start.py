"""Starts a service with a planted cause in place of this process: `start.py LANGUAGE-CAUSE --port PORT --folder FOLDER`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.with_name("pool")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("service")
    parser.add_argument("--port", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    language, _, cause = options.service.partition("-")
    if cause == "row":
        _make_counter(options.folder)
    words = [*program(language, options.folder.resolve()), cause, options.port]
    os.execvp(words[0], words)


def program(language: str, folder: Path) -> list[str]:
    """Words that run a language's service, built in `folder` if it has to be."""
    built = str(folder / "serve")
    match language:
        case "python":
            return [sys.executable, str(HERE / "serve.py")]
        case "go":
            subprocess.run(["go", "build", "-o", built, "serve.go"], check=True, cwd=HERE)
            return [built]
        case "java":
            subprocess.run(["javac", "-d", str(folder), "Serve.java"], check=True, cwd=HERE)
            return ["java", "-cp", str(folder), "Serve"]
        case "node":
            return ["node", str(HERE / "serve.js")]
        case _:
            flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-pthread"]
            subprocess.run(["gcc", *flags, "-o", built, "serve.c"], check=True, cwd=HERE)
            return [built]


def _make_counter(folder: Path) -> None:
    import databases
    import psycopg

    databases.postgresql(folder)
    os.environ["DSN"] = f"host={os.environ['DATABASES']} dbname=postgres user=postgres"
    while True:
        try:
            with psycopg.connect(os.environ["DSN"]) as connection:
                connection.execute("create table counter (id integer primary key, n integer)")
                connection.execute("insert into counter values (1, 0)")
            return
        except psycopg.OperationalError:  # it is still starting
            pass


if __name__ == "__main__":
    main()

"""Locustfiles with options of their own, imported with arguments, with variables of the environment and beside a locust.conf."""

from __future__ import annotations

import os
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import locust

from capexplorer.errors import InputError
from capexplorer.load import workload

URL = "http://127.0.0.1:9"
LOCUSTFILE = """
from locust import FastHttpUser, User, events, tag, task

@events.init_command_line_parser.add_listener
def add(parser):
    parser.add_argument("--tenant", required=True, env_var="SHOP_TENANT")
    parser.add_argument("--count", type=int, default=3)

class Web(FastHttpUser):
    @tag("read")
    @task
    def read(self): pass
    @task
    def write(self): pass

class Spare(User):
    weight = 0
"""


def outcomes(folder: str, cases: dict[str, list[str]], environment: dict[str, str], conf: str) -> dict[str, str]:
    """By case: the users and options after its arguments, or the one line of its refusal. `environment` and `conf` are those of
    the cases whose names begin with them.
    """
    path = Path(folder) / "shop.py"
    path.write_text(LOCUSTFILE)
    (with_conf := Path(folder) / "conf").mkdir()
    (with_conf / "locust.conf").write_text(conf)
    found = {}
    for name, arguments in cases.items():
        variables = environment if name.startswith("environment") else {}
        with chdir(with_conf if name.startswith("conf") else folder), patch.dict(os.environ, variables):
            locust.events.init_command_line_parser._handlers.clear()
            found[name] = _outcome(path, None if "host" in name else URL, arguments)
    return found


def _outcome(path: Path, url: str | None, arguments: list[str]) -> str:
    try:
        found = workload.from_locustfile(path, url, arguments)
    except InputError as error:
        return str(error)
    options = found.options
    return f"{[kind.__name__ for kind in found.classes]} {options.tenant} {options.count} {options.host} {options.tags}"

"""A locustfile's own options have the values that Locust would give them; what is not accepted is refused in one line."""

from __future__ import annotations

from pathlib import Path

import locust
import pytest

from capexplorer.errors import InputError
from capexplorer.load import workload

URL = "http://127.0.0.1:9"
MISSING = "shop.py: the following arguments are required: --tenant (give it after `--`, in locust.conf, or as"
CASES: dict[str, tuple[list[str], str]] = {
    "options": (["--tenant", "a", "--count=7"], f"['Web'] a 7 {URL} None"),
    "tags": (["--tenant", "a", "--tags", "read"], f"['Web'] a 3 {URL} ['read']"),
    "user classes": (["--tenant", "a", "Spare"], f"['Spare'] a 3 {URL} None"),
    "environment": ([], f"['Web'] b 3 {URL} None"),
    "environment and options": (["--tenant", "a"], f"['Web'] a 3 {URL} None"),
    "conf": ([], f"['Web'] c 8 {URL} None"),
    "conf with the host": ([], "['Web'] c 8 http://127.0.0.1:7 None"),
    "a required option is missing": ([], MISSING),
    "a value is missing": (["--tenant"], "shop.py: argument --tenant: expected one argument"),
    "a value is no number": (["--tenant", "a", "--count", "x"], "shop.py: argument --count: invalid int value: 'x'"),
    "an unknown option": (["--tenant", "a", "--cuont", "1"], "shop.py: unrecognized arguments: --cuont; did you mean '--count'?"),
    "an unknown user class": (["--tenant", "a", "Wbe"], "shop.py: no user class `Wbe`; did you mean `Web`?"),
    "an option of Locust": (
        ["--tenant", "a", "-u", "9"],
        "shop.py: -u: an option of Locust that has no effect here; the locustfile's",
    ),
    "help": (
        ["--help"],
        "shop.py: --help: an option of Locust that has no effect here; the locustfile's own options: --count, --tenant",
    ),
}
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


ENVIRONMENT = {"SHOP_TENANT": "b", "LOCUST_USERS": "5"}
CONF = "tenant = c\ncount = 8\nusers = 10\nheadless = true\nhost = http://127.0.0.1:7\n"
"""The variables, and the locust.conf, of the cases whose names begin with `environment` and `conf`."""


@pytest.mark.parametrize(("name", "arguments", "expected"), [(name, *case) for name, case in CASES.items()], ids=CASES)
def test_options_are_read_as_locust_reads_them_or_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, arguments: list[str], expected: str
) -> None:
    (tmp_path / "shop.py").write_text(LOCUSTFILE)
    if name.startswith("conf"):
        (tmp_path / "locust.conf").write_text(CONF)
    for variable, value in ENVIRONMENT.items() if name.startswith("environment") else ():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(tmp_path)
    locust.events.init_command_line_parser._handlers.clear()
    try:
        found = workload.from_locustfile(tmp_path / "shop.py", None if "host" in name else URL, arguments)
    except InputError as error:
        assert "\n" not in str(error)
        assert expected in str(error)
    else:
        options = found.options
        kinds = [kind.__name__ for kind in found.classes]
        assert f"{kinds} {options.tenant} {options.count} {options.host} {options.tags}" == expected

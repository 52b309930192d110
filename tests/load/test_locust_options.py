"""A locustfile's own options have the values that Locust would give them; what is not accepted is refused in one line."""

from __future__ import annotations

import pytest

from .patched import Played, play

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


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(
        "load.scenes.optioned",
        folder=str(tmp_path_factory.mktemp("options")),
        cases={name: arguments for name, (arguments, _) in CASES.items()},
        environment={"SHOP_TENANT": "b", "LOCUST_USERS": "5"},
        conf="tenant = c\ncount = 8\nusers = 10\nheadless = true\nhost = http://127.0.0.1:7\n",
    )


@pytest.mark.parametrize(("name", "expected"), [(name, expected) for name, (_, expected) in CASES.items()], ids=CASES)
def test_options_are_read_as_locust_reads_them_or_refused_in_one_line(seen: Played, name: str, expected: str) -> None:
    found = seen["outcomes"][name]
    assert "\n" not in found
    assert expected in found

"""`target.toml`: the values read from it, and the one-line message for each mistake."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from capexplorer.errors import InputError
from capexplorer.model.controls import Param
from capexplorer.target.spec import TargetSpec, load_spec

MIXED = Path(__file__).resolve().parents[2] / "targets" / "mixed"

BUILT = 'title = "x"\ncommand = ["./server", "{port}"]\n[build]\n'

STORE = """
title = "A store"
command = ["{python}", "-u", "serve.py", "--port={port}", "{store}", "{threads}", "{ratio}", "{fsync}", "{ not one }"]
[environment]
STORE_PORT = "{port}"
STORE_FOLDER = "{folder}"
[params.store]
default = "disk"
choices = ["disk", "memory"]
[params.threads]
default = 4
min = 1
max = 64
[params.ratio]
default = 0.5
min = 0
[params.fsync]
default = false
[metrics]
path = "/metrics"
"""


def a_target(folder: Path, text: str) -> Path:
    (folder / "store").mkdir(parents=True)
    (folder / "store" / "target.toml").write_text(text, encoding="utf-8")
    return folder / "store"


@pytest.fixture
def store(tmp_path: Path) -> TargetSpec:
    return load_spec(a_target(tmp_path, STORE))


def test_the_command_line_and_environment_have_their_placeholders_filled(store: TargetSpec) -> None:
    params = store.resolve({"store": "memory", "fsync": "yes"})
    command = (sys.executable, "-u", "serve.py", "--port=8123", "memory", "4", "0.5", "true", "{ not one }")
    assert store.command_line(params, 8123) == command
    assert store.environment_for(params, 8123) == {"STORE_PORT": "8123", "STORE_FOLDER": str(store.folder)}


def test_a_target_needs_the_scratch_folder_if_its_command_has_the_placeholder(tmp_path: Path, store: TargetSpec) -> None:
    spec = load_spec(a_target(tmp_path / "data", 'title = "x"\ncommand = ["serve", "{scratch}/tasks"]\n'))
    assert spec.uses_scratch and not store.uses_scratch
    assert spec.command_line({}, 8000) == ("serve", f"{spec.scratch}/tasks")


def test_keys_that_are_left_out_have_defaults(tmp_path: Path) -> None:
    spec = load_spec(a_target(tmp_path, 'title = "x"\ncommand = ["true"]\n'))
    assert (spec.name, spec.ready.path, spec.ready.timeout_s, spec.ready.any_status) == ("store", "/", 20.0, False)
    assert (spec.params, spec.metrics, spec.resolve({})) == ({}, None, {})


def test_a_build_is_another_command_of_the_same_target(tmp_path: Path) -> None:
    spec = load_spec(
        a_target(tmp_path, BUILT + 'command = ["make", "-C", "{folder}", "OUT={scratch}"]\n[params.size]\ndefault = 1\n')
    )
    assert spec.build is not None
    assert spec.build.timeout_s == 600.0
    assert spec.uses_scratch
    assert spec.build_step is not None
    assert spec.build_step.command_line({"size": 1}, 80) == ("make", "-C", str(spec.folder), f"OUT={spec.scratch}")
    assert spec.command_line({"size": 1}, 80) == ("./server", "80")


def test_params_are_typed_whether_they_come_as_texts_or_as_values(store: TargetSpec) -> None:
    assert store.resolve({}) == {"store": "disk", "threads": 4, "ratio": 0.5, "fsync": False}
    texts = store.resolve({"threads": " 8 ", "ratio": "2", "fsync": "ON"})
    values = store.resolve({"threads": 8, "ratio": 2, "fsync": True})
    assert texts == values == {"store": "disk", "threads": 8, "ratio": 2.0, "fsync": True}
    assert {name: type(value) for name, value in values.items()} == {"store": str, "threads": int, "ratio": float, "fsync": bool}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"thread": "8"}, "no parameter `thread`; did you mean `threads`?"),
        ({"xyz": "8"}, "no parameter `xyz`; expected one of fsync, ratio, store, threads"),
        ({"threads": "many"}, "threads: expected an integer from 1 to 64, got `many`"),
        ({"threads": 8.0}, "threads: expected an integer from 1 to 64, got `8.0`"),
        ({"threads": True}, "threads: expected an integer from 1 to 64, got `true`"),
        ({"threads": "0"}, "threads: expected an integer from 1 to 64, got `0`"),
        ({"threads": 65}, "threads: expected an integer from 1 to 64, got `65`"),
        ({"ratio": "nan"}, "ratio: expected a number of at least 0, got `nan`"),
        ({"ratio": "-1"}, "ratio: expected a number of at least 0, got `-1`"),
        ({"store": "cloud"}, "store: expected one of disk, memory, got `cloud`"),
        ({"fsync": "maybe"}, "fsync: expected true or false, got `maybe`"),
    ],
)
def test_a_wrong_parameter_is_one_line(store: TargetSpec, given: dict[str, Param], expected: str) -> None:
    with pytest.raises(InputError) as raised:
        store.resolve(given, named_by="profiles/p.toml: params")
    message = str(raised.value)
    assert message.startswith("profiles/p.toml: params: ")
    assert expected in message
    assert message.endswith(f"({store.path})")
    assert "\n" not in message


def test_a_parameter_for_a_target_without_parameters_is_refused(tmp_path: Path) -> None:
    spec = load_spec(a_target(tmp_path, 'title = "x"\ncommand = ["true"]\n'))
    with pytest.raises(InputError, match="--set: store has no parameter `threads`; it has no parameters"):
        spec.resolve({"threads": "8"})


BASE = 'title = "x"\ncommand = ["true"]\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('title = "x"\ncommand = [', "not valid TOML: "),
        ('title = "x"\n', "object missing required field `command`"),
        ('title = "x"\ncommand = "true"\n', "command: expected `array`, got `str`"),
        ('title = "x"\ncommand = []\n', "command: expected a list of at least 1 entry, got 0"),
        ('title = "x"\ncommand = ["a", 1]\n', "command[1]: expected `str`, got `int`"),
        ('title = "x"\ncommand = ["{pyton}"]\n', "command[0]: unknown placeholder `{pyton}`; did you mean `python`?"),
        (BASE + 'redy = "/"\n', "unknown key `redy`; did you mean `ready`?"),
        (BASE + '[ready]\nurl = "/"\n', "unknown key `ready.url`; expected one of any_status, path, tcp, timeout_s"),
        (BASE + '[ready]\npath = "health"\n', "ready.path: expected a path that starts with /, got 'health'"),
        (BASE + '[ready]\npath = "/a b"\n', "ready.path: expected a path that starts with /, got '/a b'"),
        (BASE + '[ready]\ntimeout_s = "20"\n', "ready.timeout_s: expected `float`, got `str`"),
        (BASE + "[ready]\ntimeout_s = 0\n", "ready.timeout_s: expected more than 0"),
        (BASE + '[metrics]\npath = "m"\n', "metrics.path: expected a path that starts with /, got 'm'"),
        (BASE + '[environment]\nA = "{por}"\n', "environment.A: unknown placeholder `{por}`; did you mean `port`?"),
        (BASE + "[params.port]\ndefault = 1\n", "params.port: expected another name: `{port}` is reserved"),
        (BASE + '[params."a b"]\ndefault = 1\n', "params.a b: expected a name of letters, digits and underscores"),
        (BASE + '[params.a]\ndoc = "x"\n', "missing required field `default`"),
        (BASE + '[params.a]\ndefault = "x"\nmin = 1\n', "params.a: expected no min and max: its default is not a number"),
        (BASE + "[params.a]\ndefault = 9\nmax = 8\n", "params.a.default: expected an integer of at most 8, got `9`"),
        (BASE + '[params.a]\ndefault = "x"\nchoices = ["y"]\n', "params.a.default: expected one of y, got `x`"),
        (BASE + '[params.a]\ndefault = 1\nchoices = ["2"]\n', "params.a.choices: expected an integer, as its default"),
        (BUILT + "command = []", "build.command: expected a list of at least 1 entry, got 0"),
        (BUILT + 'command = ["make"]\ntimeout_s = 0', "build.timeout_s: expected more than 0, got 0"),
        (BUILT + 'command = ["make", "{prot}"]', "build.command[1]: unknown placeholder `{prot}`; did you mean `port`?"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(tmp_path: Path, text: str, expected: str) -> None:
    folder = a_target(tmp_path, text)
    with pytest.raises(InputError) as raised:
        load_spec(folder)
    message = str(raised.value)
    assert message.startswith(f"{folder / 'target.toml'}: ")
    assert expected in message
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="target.toml: no such file"):
        load_spec(tmp_path)


def test_the_shipped_target_has_all_its_parameters_in_its_command() -> None:
    spec = load_spec(MIXED)
    assert spec.resolve({}) == {"server": "waitress", "threads": 32, "workers": 2, "cpu_work": 500_000, "io_ms": 200.0}
    assert all(f"{{{name}}}" in spec.command for name in spec.params)
    assert all(param.doc for param in spec.params.values())

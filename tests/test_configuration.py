"""The user's configuration file: its keys, invalid values, which are refused in one line, and the theme that is kept in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capexplorer import cli, configuration
from capexplorer.configuration import Configuration
from capexplorer.errors import InputError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default path of the configuration file, in a home folder without one."""
    monkeypatch.delenv(configuration.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "capexplorer" / "config.toml"
    assert configuration.path() == path
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_without_a_file_all_keys_have_their_defaults(file: Path) -> None:
    assert file.parts[-2:] == ("capexplorer", "config.toml")
    assert configuration.load() == Configuration()


def test_every_key_of_the_file_is_read(file: Path) -> None:
    file.write_text(
        'theme = "nord"\nwindow_s = "all"\nmarkers = "ascii"\nsessions_dir = "~/runs"\n'
        '[keys]\nautopilot = "A"\nzero = ["x", "0"]\n'
    )
    assert configuration.load() == Configuration(
        theme="nord", window_s="all", markers="ascii", sessions_dir="~/runs", keys={"autopilot": "A", "zero": ("x", "0")}
    )


REFUSED = {
    "an unknown key": ('them = "nord"', "unknown key `them`; did you mean `theme`?"),
    "a window that the key w cannot choose": ("window_s = 61", "window_s: "),
    "unknown markers": ('markers = "dots"', "markers: expected one of braille, octants, blocks, ascii, got 'dots'"),
    "an unknown theme": ('theme = "norrd"', "theme: expected one of capexplorer-dark, "),
    "an unknown action": ('[keys]\nautopilt = "A"', "unknown key `keys.autopilt`; did you mean `autopilot`?"),
    "a key that is taken": ('[keys]\nautopilot = "x"', "keys.autopilot: expected a free key: `x` is the key of `zero`"),
    "a key that is none": ('[keys]\nautopilot = "hyper+x"', "keys.autopilot: expected one character, or a name such as"),
    "a folder without a name": ('sessions_dir = ""', "sessions_dir: expected"),
    "a key that is a number": ("[keys]\nzero = 0", "keys[...]: expected `str | array`, got `int`"),
    "an empty list of keys": ("[keys]\nzero = []", "keys[...]: expected a list of at least 1 entry"),
    "not TOML": ("theme = ", "not valid TOML"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_configuration_is_refused_in_one_line(
    text: str, message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(text)
    assert cli.run(["profiles"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"capexplorer: {file}: {message}")
    assert err.count("\n") == 1


def test_the_file_of_the_option_config_must_exist(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(configuration.VARIABLE, "")  # restored after the test, also if the option has set it
    assert cli.run(["--config", str(file), "profiles"]) == 2
    assert capsys.readouterr().err == f"capexplorer: {file}: no such file\n"


def test_the_option_for_the_sessions_folder_has_precedence_over_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('sessions_dir = "~/runs"')
    assert cli.run(["export", "last"]) == 2
    assert "~/runs" in capsys.readouterr().err
    assert cli.run(["--sessions-dir", str(file.parent / "other"), "export", "last"]) == 2
    assert "~/capexplorer/other" in capsys.readouterr().err


def test_without_a_home_folder_there_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command had ended in a traceback."""

    def find(name: str) -> str:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv(configuration.VARIABLE)
    monkeypatch.setattr("platformdirs.user_config_dir", find)
    assert configuration.path() is None
    assert configuration.load() == Configuration()
    with pytest.raises(InputError, match="theme: cannot be kept without a home folder"):
        configuration.keep_theme("nord")


def test_a_sessions_folder_below_a_home_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(InputError, match="sessions_dir: ~/runs: there is no such home folder"):
        _ = Configuration(sessions_dir="~/runs").sessions_folder


KEPT = {
    "no file": (None, 'theme = "nord"\n'),
    "another theme": ('# mine\ntheme = "dracula"  # dark\nwindow_s = 60\n', '# mine\ntheme = "nord"\nwindow_s = 60\n'),
    "no theme": ("[keys]\nzero = 'X'\n", "theme = \"nord\"\n[keys]\nzero = 'X'\n"),
    "a key theme in another table": ("[keys]\ntheme = 'X'\n", "theme = \"nord\"\n[keys]\ntheme = 'X'\n"),
}


@pytest.mark.parametrize(("before", "after"), KEPT.values(), ids=KEPT)
def test_keeping_a_theme_changes_nothing_else_in_the_file(before: str | None, after: str, file: Path) -> None:
    if before is not None:
        file.write_text(before)
    configuration.keep_theme("nord")
    assert file.read_text() == after
    assert os.listdir(file.parent) == [file.name], "a temporary file is left"


def test_keeping_a_theme_writes_through_a_symbolic_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfile.toml").write_text("window_s = 60\n")
    file.symlink_to(tmp_path / "dotfile.toml")
    configuration.keep_theme("nord")
    assert file.is_symlink()
    assert configuration.load() == Configuration(theme="nord", window_s=60)


def test_a_theme_that_cannot_be_replaced_in_the_file_is_refused_with_the_line_to_write(file: Path) -> None:
    file.write_text('theme = """\nnord"""\n')
    with pytest.raises(InputError, match=r"theme: cannot be changed in this file; write theme = 'dracula' yourself"):
        configuration.keep_theme("dracula")

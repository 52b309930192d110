"""The user's configuration file: what it may say, what is refused in one line, and a theme that is kept in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capexplorer import cli, configuration
from capexplorer.configuration import Configuration
from capexplorer.errors import InputError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(configuration.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    path = configuration.path()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_without_a_file_the_defaults_hold(file: Path) -> None:
    assert file == file.parent.parent / "capexplorer" / "config.toml"
    assert configuration.load() == Configuration()


def test_a_file_is_read(file: Path) -> None:
    file.write_text(
        'theme = "nord"\nwindow_s = "all"\nmarkers = "ascii"\nsessions_dir = "~/runs"\n'
        '[keys]\nautopilot = "A"\nzero = ["x", "0"]\n'
    )
    assert configuration.load() == Configuration(
        theme="nord", window_s="all", markers="ascii", sessions_dir="~/runs", keys={"autopilot": "A", "zero": ("x", "0")}
    )


REFUSED = {
    "an unknown key": ('them = "nord"', "unknown key `them`; did you mean `theme`?"),
    "a window that w does not have": ("window_s = 61", "window_s: "),
    "unknown markers": ('markers = "dots"', "markers: invalid enum value 'dots'"),
    "a key that is a number": ("[keys]\nzero = 0", "keys[...]: expected `str | array`, got `int`"),
    "no keys": ("[keys]\nzero = []", "keys[...]: expected a list of at least 1 entry"),
    "not TOML": ("theme = ", "not valid TOML"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_configuration_gives_one_line_in_every_command(
    text: str, message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(text)
    assert cli.run(["profiles"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"capexplorer: {file}: {message}")
    assert err.count("\n") == 1


def test_a_file_that_is_named_must_be_there(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(configuration.VARIABLE, "")  # what the option sets is taken back after the test
    assert cli.run(["--config", str(file), "profiles"]) == 2
    assert capsys.readouterr().err == f"capexplorer: {file}: no such file\n"


def test_the_sessions_folder_of_the_file_gives_way_to_the_option(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('sessions_dir = "~/runs"')
    assert cli.run(["export", "last"]) == 2
    assert str(Path.home() / "runs") in capsys.readouterr().err
    assert cli.run(["--sessions-dir", str(file.parent / "other"), "export", "last"]) == 2
    assert str(file.parent / "other") in capsys.readouterr().err


KEPT = {
    "no file": (None, 'theme = "nord"\n'),
    "another theme": ('# mine\ntheme = "dracula"  # dark\nwindow_s = 60\n', '# mine\ntheme = "nord"\nwindow_s = 60\n'),
    "no theme": ("[keys]\nzero = 'X'\n", "theme = \"nord\"\n[keys]\nzero = 'X'\n"),
    "a name like it in a table": ("[keys]\ntheme = 'X'\n", "theme = \"nord\"\n[keys]\ntheme = 'X'\n"),
}


@pytest.mark.parametrize(("before", "after"), KEPT.values(), ids=KEPT)
def test_a_theme_is_kept_and_all_else_stays(before: str | None, after: str, file: Path) -> None:
    if before is not None:
        file.write_text(before)
    configuration.keep_theme("nord")
    assert file.read_text() == after
    assert os.listdir(file.parent) == [file.name]


def test_a_linked_file_stays_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfile.toml").write_text("window_s = 60\n")
    file.symlink_to(tmp_path / "dotfile.toml")
    configuration.keep_theme("nord")
    assert file.is_symlink()
    assert configuration.load() == Configuration(theme="nord", window_s=60)


def test_a_file_that_cannot_be_changed_is_named(file: Path) -> None:
    file.write_text('theme = """\nnord"""\n')
    with pytest.raises(InputError, match=r"theme: cannot be changed in this file; write theme = 'dracula' yourself"):
        configuration.keep_theme("dracula")

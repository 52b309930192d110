"""Shell completion of commands, options, profiles and sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from capexplorer import cli, configuration


def offered(args: list[str], prefix: str) -> list[str]:
    shell = ShellComplete(cli.group, {}, "capexplorer", "_CAPEXPLORER_COMPLETE")
    return [item.value for item in shell.get_completions(args, prefix)]


@pytest.mark.parametrize(
    ("args", "prefix", "expected"),
    [
        ([], "prof", ["profiles"]),
        (["run"], "--heads", []),
        (["run"], "--headl", ["--headless"]),
        (["run"], "taskqueue-l", ["taskqueue-leak"]),
        (["doctor"], "taskqueue-l", ["taskqueue-leak"]),
        (["export"], "sample-ta", ["sample-taskqueue"]),
        (["compare", "sample"], "sample-w", ["sample-webdav"]),
        (["completion"], "f", ["fish"]),
    ],
)
def test_names_with_the_typed_prefix_are_offered(args: list[str], prefix: str, expected: list[str]) -> None:
    assert offered(args, prefix) == expected


def test_sessions_are_offered_from_the_users_own_folder_the_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text(f"sessions_dir = '{tmp_path}'")
    monkeypatch.setenv(configuration.VARIABLE, str(tmp_path / "config.toml"))
    for name in ("20260101-shop", "20260102-shop"):
        (tmp_path / f"{name}.jsonl").touch()
    assert offered(["replay"], "")[:3] == ["last", "20260102-shop", "20260101-shop"]
    (tmp_path / "config.toml").write_text("nonsense")
    assert "last" in offered(["replay"], "")

"""`capexplorer profiles`: a line for each plan, at most 80 columns wide, even if other profiles in the folder are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capexplorer import cli

PROFILE = """\
title = "{title}"
target = "sleepers"

[[{users}.task]]
name = "/work"

[plans]
{plans}
"""

TITLE = "A title that is longer than a terminal is wide, so that it has to go on in another line below the first"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    (profiles / "aaa.toml").write_text(
        PROFILE.format(title=TITLE, users="users", plans='short = "5:10s,20:30s"\nknee = "find knee,hold 60% knee 24h"')
    )
    (profiles / "aab.toml").write_text(
        PROFILE.format(title="bad plans", users="users", plans='odd = "many"\nlong = """\n1:1m\n2:1m,\nloop 2 (3:30s, 4:1h)\n"""')
    )
    (profiles / "aac.toml").write_text(PROFILE.format(title="misspelt", users="user", plans=""))
    monkeypatch.chdir(tmp_path)
    return profiles


@pytest.fixture
def reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert cli.run(["profiles"]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "    --plan short  5:10s, 20:30s (40 s)",
        "    --plan knee   find knee, hold 60% knee 24h",
        "    --plan long  1:1m, 2:1m, loop 2 (3:30s, 4:1h) (2 h 3 min)",
        "    --plan odd   many",
    ],
    ids=["its duration", "a search has none", "each run of a loop counts", "not parsed"],
)
def test_a_plan_is_a_line_with_its_duration(line: str, reported: list[str]) -> None:
    assert line in reported


def test_no_line_is_wider_than_80_columns_and_nothing_is_left_out(reported: list[str]) -> None:
    assert max(len(line) for line in reported if "/aac.toml" not in line) <= 80
    assert TITLE in " ".join(line.strip() for line in reported)


def test_a_bad_profile_is_listed_with_its_error_and_the_others_follow(reported: list[str]) -> None:
    listed = " ".join(line.strip() for line in reported[reported.index("aac") :])
    assert "aac.toml" in listed
    assert "did you mean `users`" in listed
    assert "mixed" in reported
    assert "    --plan report  10:3m, 50:3m, 100:3m (9 min 0 s)" in reported


def test_json_has_plans_as_written_and_their_durations(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["profiles", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["aaa"]["plans"]["short"] == "5:10s,20:30s"
    assert rows["aaa"]["plan_lengths_s"] == {"short": 40.0, "knee": None}
    assert rows["aab"]["plan_lengths_s"] == {"odd": None, "long": 7380.0}
    assert rows["aac"]["problem"]
    assert rows["aac"]["plans"] == {}

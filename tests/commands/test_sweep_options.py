"""What a sweep refuses in one line before anything starts, and what it takes from the sweep that it continues."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.scenario import HEADER, Scenario, header

from capexplorer import cli
from capexplorer.commands.sweep import SweepArguments, _options
from capexplorer.errors import InputError
from capexplorer.model.events import Command, Sweep, Target, Verdict
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict

TASK = '[users]\n[[users.task]]\nname = "/"\n'
PARAMS = {"threads": 4, "store": "memory"}


def asked(profile: str | None = "sleepers", **fields: object) -> dict[str, object]:
    names = (
        "locustfile",
        "target_cmd",
        "compose",
        "ready",
        "ready_timeout_s",
        "spawn_rate",
        "label",
        "sessions_dir",
        "arrivals",
        "metrics",
        "workers",
    )
    several = ("requests", "values", "watches", "limits", "allow_hosts")
    usual = {**dict.fromkeys(names), **dict.fromkeys(several, ()), "sandbox": False, "keep_bodies": False}
    return {"profile": profile, **usual, **fields}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sleepers"], "--set: expected the values of a parameter"),
        (["sleepers", "--set", "wokers=1,2"], "--set: sleepers has no parameter `wokers`; did you mean `workers`?"),
        (["sleepers", "--set", "workers=1,many"], "--set: workers: expected an integer from 1 to 1000, got `many`"),
        (["sleepers", "--set", "workers=1,0"], "--set: workers: expected an integer from 1 to 1000, got `0`"),
        (["sleepers", "--set", "workers=1,+1"], "--set: expected each setting once"),
        (
            ["sleepers", "--set", "workers=1,2", "--within", "soon"],
            "--within: expected a duration like `90s` or `5m`, got 'soon'",
        ),
        (["URL", "--set", "workers=1,2"], "--set: needs a target that capexplorer starts"),
        (["sleepers", "--set", "workers=1,2", "--resume", "nothing"], "nothing"),
        (["--report", "PLAIN"], "--report: 20260101-120000-mixed-0a1b is no sweep"),
    ],
)
def test_wrong_input_is_refused_in_one_line(
    words: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (profile := tmp_path / "running.toml").write_text(f'url = "http://127.0.0.1:9"\n{TASK}')
    plain = Scenario(HEADER).level(users=1, rps=10).write(tmp_path / "20260101-120000-mixed-0a1b.jsonl")
    named = {"URL": str(profile), "PLAIN": str(plain)}
    assert cli.run(["sweep", "--sessions-dir", str(tmp_path / "none"), *(named.get(word, word) for word in words)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert expected in line


def test_a_parameter_of_a_command_on_the_command_line_is_swept_like_one_of_a_target(tmp_path: Path) -> None:
    found = _options(
        SweepArguments(settings=("pool=2,8", "mode=a")),
        asked(None, target_cmd="./serve --port {port} --pool {pool} --mode {mode}", requests=("/",), sessions_dir=tmp_path),
        None,
    )
    assert found.sweep is not None
    assert found.sweep.settings == ({"pool": "2", "mode": "a"}, {"pool": "8", "mode": "a"})
    assert found.params == {"pool": "2", "mode": "a"}


def swept(target: str = "sleepers", params: dict[str, object] | None = None, finds_rate: bool = False) -> Scenario:
    """A sweep over the workers of which the setting 2 has a verdict, and 4 has none."""
    facts = {"name": target, "params": params or {"workers": 2, "sleep_ms": 100.0}}
    head = header(target=facts, profile={"name": "sleepers"})
    found = Scenario(head).add(Sweep(t_s=0.0, settings=({"workers": 2}, {"workers": 4}), finds_rate=finds_rate))
    found.add(Target(t_s=0.5, state="starting", params={"workers": 2, "sleep_ms": 100.0}))
    found.level(users=4, rps=20)
    knee = KneeVerdict(kind="no_knee", users=4.0)
    found.add(Verdict(t_s=found.t_s, capacity=CapacityVerdict(knee=knee)))
    return found.add(Command(t_s=found.t_s, name="autopilot", by="autopilot", args={"on": False, "end": "done"}))


def test_a_resumed_sweep_has_the_settings_and_the_profile_of_the_earlier_one_and_explores_the_rest() -> None:
    found = _options(SweepArguments(), asked(None), swept().timeline)
    assert found.name == "sleepers"
    assert found.sweep is not None
    assert found.sweep.settings == ({"workers": 2}, {"workers": 4})
    assert [each.params for each in found.sweep.earlier] == [{"workers": 2}]
    assert found.params == {"workers": 4, "sleep_ms": 100.0}


def test_a_resumed_sweep_may_have_more_values() -> None:
    found = _options(SweepArguments(settings=("workers=2,3,4,8",)), asked(), swept().timeline)
    assert found.sweep is not None
    assert [each.params for each in found.sweep.earlier] == [{"workers": 2}]
    assert found.params["workers"] == 8


@pytest.mark.parametrize(
    ("before", "settings", "expected"),
    [
        (swept("mixed"), "workers=2,4", "expected a sweep of sleepers, got one of mixed"),
        (swept(params={"workers": 2, "sleep_ms": 50.0}), "workers=2,4", "differs in sleep_ms"),
        (swept(finds_rate=True), "workers=2,4", "differs in --rate"),
        (swept(), "sleep_ms=10,20", "differs in"),
    ],
)
def test_a_sweep_under_other_conditions_is_not_continued(before: Scenario, settings: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        _options(SweepArguments(settings=(settings,)), asked(), before.timeline)

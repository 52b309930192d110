"""`[limits]` and `--limit`: values that are accepted, and those that are refused with one line and exit code 2 before a start."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from capexplorer import cli, profile
from capexplorer.commands.limiting import check_here, limits_of
from capexplorer.errors import InputError
from capexplorer.model.limits import Limits, NetworkLimits, ProcessLimits, limits_by_key

PROFILE = 'target = "mixed"\n[users]\n[[users.task]]\nname = "/health"\n[limits]\n'

REFUSED = {
    "unknown table": ("targt.open_files=5", "unknown key `targt`; did you mean `target`?"),
    "unknown key": ("target.open_file=5", "unknown key `target.open_file`; did you mean `open_files`?"),
    "unknown sysctl": ("network.tcp_fin_timeout=5", "unknown key `network.tcp_fin_timeout`"),
    "text for a number": ('network.tcp_tw_reuse="no"', "network.tcp_tw_reuse: expected `int | null`, got `str`"),
    "a value for a table": ("target=5", "target: expected `object`, got `int`"),
    "too few files of a target": ("target.open_files=5", "target.open_files: expected at least 8, got 5"),
    "too few files of the app": ("generator.open_files=20", "generator.open_files: expected at least 64, got 20"),
    "no cores": ("target.cpus=[]", "target.cpus: expected a list of different cores such as [0, 1], got []"),
    "a core twice": ("target.cpus=[0, 0]", "target.cpus: expected a list of different cores"),
    "a core that this machine does not have": (
        "generator.cpus=[4095]",
        "generator.cpus: this machine has no core 4095; expected some of 0",
    ),
    "privileged ports": ("network.ip_local_port_range=[80, 2000]", "port_range[0]: expected at least 1024, got 80"),
    "a port above 65535": ("network.ip_local_port_range=[2000, 65536]", "port_range[1]: expected at most 65535, got 65536"),
    "a negative core": ("target.cpus=[-1]", "target.cpus[0]: expected at least 0, got -1"),
    "more files than a kernel can count": ("target.open_files=2147483648", "target.open_files: expected at most 2147483647, got"),
    "a range whose last port is below its first": (
        "network.ip_local_port_range=[3000, 2000]",
        "expected [first, last] with 1024 <= first < last <= 65535, got [3000, 2000]",
    ),
    "half a range": (
        "network.ip_local_port_range=[3000]",
        "network.ip_local_port_range: expected a list of exactly 2 entries, got 1",
    ),
    "no port for the target": ("network.ip_local_port_range=[1024, 65535]", "expected to leave the target a port from 8000 up"),
    "an invalid value for reuse": (
        "network.tcp_tw_reuse=3",
        "network.tcp_tw_reuse: expected 0 (never), 1 (always) or 2 (on loopback), got 3",
    ),
    "a queue of length 0": ("network.somaxconn=0", "network.somaxconn: expected at least 1, got 0"),
}


@pytest.mark.parametrize(("setting", "message"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_option_is_one_line_and_exit_code_2(setting: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "mixed", "--headless", "--plan", "1:1s", "--limit", setting]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("capexplorer: --limit: ")
    assert message in err


@pytest.mark.parametrize("setting", ["target.open_files", "target.open_files=", "=5", "target.open_files=many", "a=1\nb=2"])
def test_an_invalid_setting_is_refused_with_an_example(setting: str) -> None:
    with pytest.raises(InputError, match=r"--limit: expected KEY=VALUE such as target.open_files=64 or network.*, got "):
        limits_of((setting,), Limits())


@pytest.mark.parametrize(("setting", "message"), REFUSED.values(), ids=REFUSED)
def test_a_profile_is_refused_for_the_same_reasons(
    setting: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.toml"
    path.write_text(f"{PROFILE}{setting}\n")
    assert cli.run(["run", str(path), "--headless", "--plan", "1:1s"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"capexplorer: {path}: ")
    assert message.partition(": ")[2] in err


def test_a_profile_may_write_tables_or_dotted_keys(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(f"{PROFILE}target.open_files = 64\nnetwork.ip_local_port_range = [32_768, 34_767]\n")
    dotted = profile.load(path).limits
    lines = PROFILE.removesuffix("[limits]\n")
    path.write_text(f"{lines}[limits.target]\nopen_files = 64\n[limits.network]\nip_local_port_range = [32_768, 34_767]\n")
    assert profile.load(path).limits == dotted
    assert limits_by_key(dotted) == {"target.open_files": 64, "network.ip_local_port_range": "[32768, 34767]"}


def test_an_option_replaces_its_key_of_the_profile_and_no_other() -> None:
    of_profile = Limits(target=ProcessLimits(open_files=64, cpus=(0,)), network=NetworkLimits(tcp_tw_reuse=0))
    limits = limits_of(("target.open_files=128", "network.somaxconn=5"), of_profile)
    assert limits_by_key(limits) == {
        "target.open_files": 128,
        "target.cpus": "[0]",
        "network.tcp_tw_reuse": 0,
        "network.somaxconn": 5,
    }


DEFAULTS = {"starts_target": True, "port": None, "allow_hosts": ()}
NETWORK = Limits(network=NetworkLimits(ip_local_port_range=(32_768, 34_767)))
NOT_APPLICABLE = {
    "files of a service that runs already": (
        Limits(target=ProcessLimits(open_files=64)),
        {"starts_target": False},
        "limits.target: needs a target that capexplorer starts",
    ),
    "a network for a service that runs already": (
        NETWORK,
        {"starts_target": False},
        "limits.network: needs a target that capexplorer starts: .* has only loopback and cannot reach a service outside of it",
    ),
    "a network, and a host outside of it": (
        NETWORK,
        {"allow_hosts": ("127.0.0.1", "db.example")},
        "limits.network: .* only loopback, so load cannot go to db.example",
    ),
    "a port of the target in the range of client ports": (
        NETWORK,
        {"port": 33_000},
        "limits.network.ip_local_port_range: expected a range without the target's port, 33000",
    ),
}


@pytest.mark.parametrize(("limits", "circumstances", "message"), NOT_APPLICABLE.values(), ids=NOT_APPLICABLE)
def test_limits_that_this_machine_cannot_apply_are_refused(
    limits: Limits, circumstances: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=f"^--limit: {message}"):
        check_here(limits, "--limit", **{**DEFAULTS, **circumstances})  # type: ignore[arg-type]


def test_run_refuses_limits_together_with_a_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "ports", "--host", "http://127.0.0.1:9", "--headless", "--plan", "1:1s"]) == 2
    assert "limits.network: needs a target that capexplorer starts" in capsys.readouterr().err


def test_only_root_may_go_beyond_the_hard_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    beyond = Limits(generator=ProcessLimits(open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[1] + 1))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(InputError, match="limits.generator.open_files: expected at most .*, the hard limit here"):
        check_here(beyond, "--limit", **DEFAULTS)  # type: ignore[arg-type]

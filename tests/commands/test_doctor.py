"""`capexplorer doctor`: a table for people, a documented document for programs, exit code 0 unless the input is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from capexplorer import cli, profile
from capexplorer.analysis.host_checks import Needs, checks
from capexplorer.commands.doctor import demands_of, mean_wait_s, show, stacks_check
from capexplorer.model.events import HostFacts
from capexplorer.model.limits import Machine
from capexplorer.profile import Wait
from capexplorer.read.machine import reads_other_users
from capexplorer.stacks.available import Tool

KEYS = {"id", "title", "state", "readings", "here", "bounds_at", "lift"}


def document(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    assert cli.run(["doctor", *args, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_json_has_the_documented_shape(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys)
    assert found["schema"] == "capexplorer.doctor/1"
    assert found["profile"] is None
    assert found["checks"]
    assert [row for row in found["checks"] if set(row) != KEYS] == []
    assert {row["state"] for row in found["checks"]} <= {"ok", "bounds", "missing", "unavailable"}


def test_every_check_of_json_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text()
    for row in document(capsys, "ports")["checks"]:
        assert f"`{row['id']}`" in text
        if row["id"] not in ("programs", "profile_limits"):  # whose readings have the names of programs and keys
            assert [name for name in row["readings"] if f"`{name}`" not in text] == [], row["id"]


def test_runtimes_whose_stacks_cannot_be_sampled_are_named_with_the_reason() -> None:
    works, fails = Tool(runtime="go", name="net/http/pprof"), Tool(runtime="python", name="py-spy", why="it is not installed")
    found = stacks_check((works, fails))
    assert (found.state, found.readings, found.lift) == ("missing", {"go": True, "python": False}, "it is not installed")
    assert ("go" in found.here, "python" in found.here) == (True, False)
    assert stacks_check((works,)).state == "ok"
    assert stacks_check((fails,)).here == "none"


def test_checks_depend_on_what_a_profile_needs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["id"]: row for row in document(capsys, "ports")["checks"]}
    assert rows["ports"]["readings"]["ports_capacity"] == 2_000
    assert rows["new_connections"]["state"] == "bounds"
    assert rows["new_connections"]["readings"]["ceiling_per_s"] == 33.3
    assert rows["profile_limits"]["readings"] == {"network.ip_local_port_range": "[32768, 34767]", "network.tcp_tw_reuse": 0}


def test_the_values_of_the_kernel_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["id"]: row["readings"] for row in document(capsys)["checks"]}
    assert rows["accept_queue"]["somaxconn"] == int(Path("/proc/sys/net/core/somaxconn").read_text())
    assert rows["new_connections"]["tcp_tw_reuse"] == int(Path("/proc/sys/net/ipv4/tcp_tw_reuse").read_text())


def test_a_limit_that_this_machine_cannot_apply_is_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.toml"
    path.write_text('target = "mixed"\nlimits.target.cpus = [4095]\n[users]\n[[users.task]]\nname = "/health"\n')
    row = document(capsys, str(path))["checks"][-1]
    assert (row["id"], row["state"]) == ("profile_limits", "missing")
    assert row["lift"].startswith(f"{path}: limits.target.cpus: this machine has no core 4095")


@pytest.mark.parametrize(("name", "message"), [("mixd", "did you mean `mixed`?"), ("./gone.toml", "no such profile")])
def test_a_wrong_profile_is_one_line_and_exit_code_2(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["doctor", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("width", [80, 160])
def test_a_command_in_the_table_is_not_broken_within_a_word(width: int, tmp_path: Path) -> None:
    rows = checks(Machine(host=HostFacts(ports_capacity=28_232, port_range=(32_768, 60_999), tcp_tw_reuse=0, cpus=2)), Needs())
    with (tmp_path / "reported").open("w+", encoding="utf-8") as file:
        show(rows, Console(file=file, width=width))
        file.seek(0)
        words = file.read().split()
    for command in ('net.ipv4.ip_local_port_range="1024', "net.ipv4.tcp_tw_reuse=1", "generator.cpus=[0]"):
        assert command in words or f"{command}," in words
    assert "limits" in words
    assert "unknown" in words


def test_the_needs_of_a_bundled_profile_are_derived_from_it() -> None:
    needs = demands_of(profile.load(Path(__file__).parents[2] / "profiles" / "ports.toml"))
    assert (needs.users, needs.keep_alive, needs.starts_target) == (500, False, True)
    assert needs.wait_s == pytest.approx(0.3)
    assert needs.connections_per_s == pytest.approx(500 / 0.3)


@pytest.mark.parametrize(
    ("wait", "mean_s"),
    [(0.0, 0.0), (2.0, 2.0), (Wait(between=(1, 2)), 1.5), (Wait(constant=0.7), 0.7), (Wait(constant_pacing=3), 3.0),
     (Wait(constant_throughput=0.5), 2.0), (Wait(poisson=4), 0.25), (Wait(constant=0), 0.0)],
)  # fmt: skip
def test_the_mean_think_time_is_derived_from_every_kind_of_wait(wait: Wait | float, mean_s: float) -> None:
    assert mean_wait_s(wait) == mean_s


@pytest.mark.parametrize(
    ("status", "allowed"),
    [("CapEff:\t000001ffffffffff\n", True), ("CapEff:\t0000000000000000\n", False), ("CapEff:\t0000000000080000\n", False),
     ("CapEff:\t0000000000080004\n", True), ("Name:\tx\n", None), (None, None)],
)  # fmt: skip
def test_processes_of_other_users_are_readable_with_the_capability_for_it(status: str | None, allowed: bool | None) -> None:
    assert reads_other_users(status) is allowed

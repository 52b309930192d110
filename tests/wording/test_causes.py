"""Names, places and advice of every id in the catalogue, and evidence in words."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest

from capexplorer import wording
from capexplorer.analysis.causes.catalogue import ENTRIES
from capexplorer.commands.limiting import limits_of
from capexplorer.model.findings import Cause, Leak
from capexplorer.model.limits import Limits
from capexplorer.wording.cause_texts import TEXTS
from trials.marked import marked

Unit = Literal["bytes", "fds"]


def cause(evidence: dict[str, Any]) -> Cause:
    found = marked(t_s=1.0, key="k", state="open", kind="cause", id="connection_reset", evidence=evidence).finding
    assert isinstance(found, Cause)
    return found


def test_every_id_has_a_name_a_place_and_one_line_of_advice() -> None:
    assert set(TEXTS) == set(ENTRIES)
    for id_, entry in ENTRIES.items():
        assert wording.where(id_) == entry.where
        for system in ("Linux", "Darwin", "Windows", None):
            sentence = wording.advice_for(id_, {}, system)
            assert sentence and "\n" not in sentence and sentence.endswith((".", "?")) and sentence.count("`") % 2 == 0, id_
            assert len(sentence) <= 200, id_


def test_every_cause_that_invalidates_a_run_has_a_limiter_for_the_verdict() -> None:
    spoil = {each.id for each in ENTRIES.values() if each.severity == "critical" and each.where != "target"}
    assert spoil == {name for name, text in TEXTS.items() if text.limiter}


@pytest.mark.parametrize(
    ("id_", "evidence", "system", "command"),
    [
        ("ephemeral_port_exhaustion_time_wait", {}, "Linux", 'sysctl -w net.ipv4.ip_local_port_range="1024 65535"'),
        ("ephemeral_port_exhaustion_time_wait", {}, "Linux", "sysctl -w net.ipv4.tcp_tw_reuse=1"),
        ("ephemeral_port_exhaustion_time_wait", {}, "Darwin", "sysctl -w net.inet.tcp.msl=1000"),
        ("ephemeral_port_exhaustion_established", {}, "Windows", "netsh int ipv4 set dynamicport tcp start=1025 num=64510"),
        ("fd_exhaustion_generator", {"fds_limit": 1_024}, "Linux", "ulimit -n 65536"),
        ("fd_exhaustion_generator", {"fds_limit": 100_000}, "Linux", "ulimit -n 262144"),
        ("conntrack_table_full", {"conntrack_max": 262_144}, "Linux", "sysctl -w net.netfilter.nf_conntrack_max=524288"),
        ("listen_backlog_overflow", {}, "Linux", "sysctl -w net.core.somaxconn=4096"),
        ("fd_exhaustion_target", {"pid": 17}, "Linux", "ls -l /proc/17/fd"),
        ("gil_bound", {}, "Linux", "--set workers=N"),
    ],
)
def test_advice_has_the_command_for_the_system(id_: str, evidence: dict[str, Any], system: str, command: str) -> None:
    assert f"`{command}`" in wording.advice_for(id_, evidence, system)


@pytest.mark.parametrize(
    ("id_", "evidence", "limits", "command"),
    [
        ("ephemeral_port_exhaustion_time_wait", {}, ("network.tcp_tw_reuse",), "network.tcp_tw_reuse=1"),
        ("ephemeral_port_exhaustion_time_wait", {}, ("network.somaxconn",), "network.ip_local_port_range=[10000,65535]"),
        ("ephemeral_port_exhaustion_established", {}, ("network.somaxconn",), "network.ip_local_port_range=[10000,65535]"),
        ("ephemeral_port_exhaustion", {}, ("network.somaxconn",), "network.ip_local_port_range=[10000,65535]"),
        ("listen_backlog_overflow", {}, ("network.somaxconn",), "network.somaxconn=4096"),
        ("fd_exhaustion_generator", {"fds_limit": 100}, ("generator.open_files",), "generator.open_files=65536"),
        ("fd_exhaustion_target", {"fds_limit": 64}, ("target.open_files",), "target.open_files=65536"),
    ],
)
def test_a_limit_set_by_the_session_is_raised_by_its_option_and_not_on_the_machine(
    id_: str, evidence: dict[str, Any], limits: tuple[str, ...], command: str
) -> None:
    sentence = wording.advice_for(id_, evidence, "Linux", limits)
    assert f"`--limit {command}`" in sentence
    assert "sysctl" not in sentence
    assert "ulimit" not in sentence
    assert len(sentence) <= 200


def test_limits_of_one_thing_change_no_advice_on_another() -> None:
    assert "sysctl" in wording.advice_for("ephemeral_port_exhaustion_time_wait", {}, "Linux", ("target.open_files",))
    assert "ulimit" in wording.advice_for("fd_exhaustion_generator", {}, "Linux", ("target.open_files", "network.somaxconn"))


def test_the_wider_range_that_is_advised_is_one_that_a_session_takes() -> None:
    given = re.search(
        r"--limit (network\.ip_local_port_range=\S+)`", wording.advice_for("ephemeral_port_exhaustion", {}, None, ("network.",))
    )
    assert given is not None
    assert limits_of((given[1],), Limits()).network.ip_local_port_range == (10_000, 65_535)


def test_advice_says_that_reuse_does_not_help_where_ports_are_in_use() -> None:
    assert "tcp_tw_reuse does not help" in wording.advice_for("ephemeral_port_exhaustion_established", {})


def test_an_id_of_a_later_version_is_shown_with_spaces() -> None:
    assert (wording.name("quantum_decay"), wording.where("quantum_decay"), wording.advice_for("quantum_decay", {})) == (
        "quantum decay", "target", "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        ({"ports_used": 1_998, "time_wait": 12}, "ports used 1,998, time wait 12"),
        ({"retransmitted_ratio": 0.0213, "target_cpu_ratio": 1.9}, "retransmitted 2.1%, target cpu 1.9"),
        ({"rss_bytes": 150_000_000, "held_s": 240.0, "wait_s": 0.5}, "rss 143 MiB, held 4 min 0 s, wait 0.5 s"),
        (
            {"pid": 47_110, "statuses": {"500": 12}, "grounds": "busy, little"},
            "statuses 500: 12, pid 47110, grounds busy, little",
        ),
        ({"count": 3, "first_s": 1.0, "example": "x", "endpoints": {}, "unavailable": []}, ""),
    ],
)
def test_readings_have_their_units(evidence: dict[str, Any], sentence: str) -> None:
    assert wording.readings(cause(evidence)) == sentence


@pytest.mark.parametrize(
    ("unit", "figures", "sentence"),
    [
        ("bytes", {"growth_per_hour": 720.0 * (1 << 20), "limit": float(1 << 30)}, ("growth per hour 720 MiB", "limit 1 GiB")),
        ("fds", {"growth_per_hour": 7200.0}, ("growth per hour 7,200",)),
    ],
)
def test_a_leak_s_figures_are_in_its_unit(unit: Unit, figures: dict[str, Any], sentence: tuple[str, ...]) -> None:
    listed = wording.readings(Leak(name="memory_leak", unit=unit, held_s=240.0, now=1.0, **figures))
    assert all(each in listed for each in sentence), listed


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        ({"count": 12_345, "rate_per_s": 411.3}, "12,345 × at 411/s"),
        ({"count": 13, "seconds": 13, "rate_per_s": 1.0}, "for 13 s"),
        ({"count": 1, "deaths": 1}, ""),
        ({"count": 193, "rate_per_s": 19.3, "retried": 190, "failures": 3}, "193 × at 19.3/s, 190 repeated by the client"),
        ({}, ""),
    ],
)
def test_counts_are_given_with_their_unit(evidence: dict[str, Any], sentence: str) -> None:
    assert wording.counted(cause(evidence)) == sentence


def test_the_journal_has_a_short_form_of_a_mark() -> None:
    event = marked(
        t_s=9.0, key="k", state="open", kind="cause", id="connection_reset", users=80, severity="error", confidence="high",
        evidence={"count": 412, "rate_per_s": 3.1, "resets_sent": 12},
    )  # fmt: skip
    assert wording.journal_mark(event) == "cause: connections are reset at 80 users (high confidence), 412 × at 3.1/s"
    reported = "cause: connections are reset at 80 users (high confidence): 412 × at 3.1/s, resets sent 12"
    assert wording.mark(event) == f"{reported}. {TEXTS['connection_reset'].advice}"

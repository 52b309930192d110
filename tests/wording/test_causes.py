"""Name, place and advice of every cause in the catalogue, and sentences about the evidence of a cause."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from kit.scenario import HEADER
from marked import marked

from capexplorer import wording
from capexplorer.analysis.bottleneck.bottlenecks import IDS as BOTTLENECK_IDS
from capexplorer.commands.limiting import limits_of
from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.events import Header, Mark, TargetFacts
from capexplorer.model.experiments import LimitCause
from capexplorer.model.findings import Bottleneck, Cause, Leak
from capexplorer.model.limits import Limits
from capexplorer.session.reader import read as session_events
from capexplorer.wording.evidence import GROWTH, PHRASES, WORDED_SEPARATELY

SESSIONS = Path(__file__).resolve().parents[2] / "sessions"
LeakUnit = Literal["bytes", "fds"]


def cause_with(evidence: dict[str, Any]) -> Cause:
    """The finding of a cause with this evidence, as a log of schema 1 has it."""
    found = marked(t_s=1.0, key="k", state="open", kind="cause", id="connection_reset", evidence=evidence).finding
    assert isinstance(found, Cause)
    return found


@pytest.mark.parametrize("id_", ENTRIES)
def test_advice_is_one_line_of_at_most_200_characters(id_: str) -> None:
    for system in ("Linux", "Darwin", "Windows", None):
        advice = wording.advice_for(id_, {}, system)
        assert 0 < len(advice) <= 200, system
        assert "\n" not in advice, system
        assert advice.endswith((".", "?")), system
        assert advice.count("`") % 2 == 0, f"{system}: a command has only one backtick"


def test_causes_that_invalidate_a_run_and_no_others_have_words_for_limited_by() -> None:
    invalidating = {each.id for each in ENTRIES.values() if each.severity == "critical" and each.where != "target"}
    assert {each.id for each in ENTRIES.values() if each.limiter} == invalidating


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
def test_advice_has_the_command_of_the_operating_system(id_: str, evidence: dict[str, Any], system: str, command: str) -> None:
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
    advice = wording.advice_for(id_, evidence, "Linux", limits)
    assert f"`--limit {command}`" in advice
    assert "sysctl" not in advice
    assert "ulimit" not in advice
    assert len(advice) <= 200
    of_another_limit = wording.advice_for(id_, evidence, "Linux", ("generator.processes", "target.cpus"))
    assert "--limit" not in of_another_limit


def test_the_port_range_that_is_advised_is_valid_for_the_option_limit() -> None:
    advice = wording.advice_for("ephemeral_port_exhaustion", {}, None, ("network.",))
    option = re.search(r"--limit (network\.ip_local_port_range=\S+)`", advice)
    assert option is not None, advice
    assert limits_of((option[1],), Limits()).network.ip_local_port_range == (10_000, 65_535)


def session(
    *, params: dict[str, Any] | None = None, client: str = "FastHttpUser", locustfile: bool = False, started: bool = True
) -> Header:
    """The header of a session with this target and these users."""
    users = {"locustfile": "locustfile.py"} if locustfile else {"client": "fast"}
    facts = TargetFacts(name="own", url="http://127.0.0.1:1", command=("./own",) * started, params=params or {})
    return msgspec.structs.replace(HEADER, target=facts, profile={"users": users}, clients=(client,))


def advised(id_: str, header: Header) -> str:
    kind = Bottleneck if id_ in BOTTLENECK_IDS else Cause
    return wording.advice(kind(name=id_), header)


@pytest.mark.parametrize("id_", ENTRIES)
def test_advice_names_no_parameter_that_the_target_lacks_and_no_option_of_the_session_that_it_lacks(id_: str) -> None:
    of_locustfile = advised(id_, session(client="HttpUser", locustfile=True, started=False))
    for lacking in (
        "--set",
        "FastHttpUser",
        "target's log",
        "target.cpus",
        "keep_alive = true",
        "expect_status",
        "wait_s",
        "timeout_s",
        "{",
    ):
        assert lacking not in of_locustfile
    assert "--set" not in advised(id_, session(params={"cpu_work": 3, "store": "lock"}))
    assert len(of_locustfile) <= 200


OF_LOCUSTFILE = session(client="HttpUser", locustfile=True)


@pytest.mark.parametrize(
    ("id_", "header", "named", "not_named"),
    [
        ("lock_or_pool_limit", session(params={"pool_size": 5, "cpu_work": 1}), "`--set pool_size=N`", "cpu_work"),
        ("gil_bound", session(params={"pool_size": 5, "cpu_work": 1}), "", "--set"),
        ("worker_pool_exhausted", session(params={"threads": 4, "workers": 2}),
         "(`--set threads=N` or `--set workers=N`)", "FastHttpUser"),
        ("generator_retry_amplification", session(), "FastHttpUser retries a request up to 12 times", "adapter"),
        ("generator_retry_amplification", OF_LOCUSTFILE, "adapter", "12"),
        ("generator_cpu_saturated", session(), 'client = "lean"', "LeanHttpUser"),
        ("generator_cpu_saturated", OF_LOCUSTFILE, "LeanHttpUser", "client ="),
        ("generator_cpu_saturated", session(client="LeanHttpUser"), "", "ean"),
        ("ephemeral_port_exhaustion_established", session(), "tcp_tw_reuse does not help", "--limit"),
    ],
)  # fmt: skip
def test_advice_names_what_the_target_and_the_client_have(id_: str, header: Header, named: str, not_named: str) -> None:
    assert named in advised(id_, header)
    assert not_named not in advised(id_, header)


@pytest.mark.parametrize(
    ("left", "without_effect", "advice"),
    [
        ((), (), "Find the lock or the pool (threads, connections) that requests wait for, or enlarge it (`--set pool=N` or "
         "`--set threads=N`)."),
        (("lock",), (), "Find the lock that requests wait for."),
        (("pool",), ("threads",), "Find the pool (threads, connections) that requests wait for, or enlarge it (`--set pool=N`)."),
        (("lock", "rate_limit"), (), "Find the lock or the rate limiter that requests wait for."),
        (("link",), (), "Find what it is that requests wait for."),
    ],
)  # fmt: skip
def test_nothing_is_advised_that_experiments_rule_out(
    left: tuple[LimitCause, ...], without_effect: tuple[str, ...], advice: str
) -> None:
    found = Bottleneck(name="lock_or_pool_limit", left=left, without_effect=without_effect)
    assert wording.advice(found, session(params={"pool": 4, "threads": 16})) == advice


def test_an_unknown_id_of_a_log_is_its_own_name_without_advice() -> None:
    assert wording.name("quantum_decay") == "quantum decay"
    assert wording.where("quantum_decay") == "target"
    assert wording.advice_for("quantum_decay", {}) == ""


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        ({"ports_used": 1_998, "time_wait": 12}, "ports used 1,998, time wait 12"),
        ({"retransmitted_ratio": 0.0213, "target_cpu_ratio": 1.9}, "retransmitted 2.1%, the target uses 1.9 cores"),
        ({"rss_bytes": 150_000_000, "held_s": 240.0, "wait_s": 0.5}, "rss 143 MiB, held 4 min 0 s, think time 0.5 s"),
        (
            {"pid": 47_110, "statuses": {"500": 12}, "grounds": "busy, little"},
            "statuses 500: 12, process 47110, signs: the load thread is busy, users wait for more than responses",
        ),
        ({"count": 3, "first_s": 1.0, "example": "x", "endpoints": {}, "unavailable": []}, ""),
    ],
)
def test_readings_of_the_evidence_have_their_units(evidence: dict[str, Any], sentence: str) -> None:
    assert wording.readings(cause_with(evidence)) == sentence


@pytest.mark.parametrize("name", ["sample-autopilot", "sample-taskqueue", "sample-kv", "sample-webdav"])
def test_no_bottleneck_of_a_recorded_session_shows_keys_of_the_log(name: str) -> None:
    marks = (each for each in session_events(SESSIONS / f"{name}.jsonl") if isinstance(each, Mark))
    found = [mark.finding for mark in marks if isinstance(mark.finding, Bottleneck)]
    told = {*WORDED_SEPARATELY, *GROWTH, "throughput_rps", "little_ratio"}
    assert found and not {key for each in found for key in each.figures() if key not in PHRASES} - told


@pytest.mark.parametrize(
    ("unit", "figures", "parts"),
    [
        ("bytes", {"growth_per_hour": 720.0 * (1 << 20), "limit": float(1 << 30)}, ("growth per hour 720 MiB", "limit 1 GiB")),
        ("fds", {"growth_per_hour": 7200.0}, ("growth per hour 7,200",)),
    ],
)
def test_figures_of_a_leak_are_in_its_unit(unit: LeakUnit, figures: dict[str, Any], parts: tuple[str, ...]) -> None:
    sentence = wording.readings(Leak(name="memory_leak", unit=unit, held_s=240.0, now=1.0, **figures))
    assert [part for part in parts if part not in sentence] == [], sentence


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
def test_failures_are_counted_with_their_rate_or_their_duration(evidence: dict[str, Any], sentence: str) -> None:
    assert wording.counted(cause_with(evidence)) == sentence


def test_a_mark_in_the_journal_has_neither_readings_nor_advice() -> None:
    mark = marked(
        t_s=9.0, key="k", state="open", kind="cause", id="connection_reset", users=80, severity="error", confidence="high",
        evidence={"count": 412, "rate_per_s": 3.1, "resets_sent": 12},
    )  # fmt: skip
    assert wording.journal_mark(mark) == "cause: connections are reset at 80 users (high confidence), 412 × at 3.1/s"
    with_readings = "cause: connections are reset at 80 users (high confidence): 412 × at 3.1/s, resets sent 12"
    assert wording.mark(mark) == f"{with_readings}. {wording.advice_for('connection_reset', {})}"


@pytest.mark.parametrize(
    ("id_", "example", "said"),
    [
        ("client_error", "404: no such order", ", GET /orders 9, POST /orders 3 (404: no such order)"),
        ("server_error", "500: too many clients", ", GET /orders 9, POST /orders 3 (500: too many clients)"),
        ("client_error", "code=404", ", GET /orders 9, POST /orders 3"),
        ("client_error", "", ", GET /orders 9, POST /orders 3"),
    ],
)
def test_a_mark_of_refused_requests_names_them_and_what_a_reply_said(id_: str, example: str, said: str) -> None:
    status = 500 if id_ == "server_error" else 404
    mark = marked(
        t_s=9.0, key="k", state="open", kind="cause", id=id_, users=3, severity="error", confidence="high",
        evidence={
            "count": 12, "rate_per_s": 4.0, "endpoints": {"POST /orders": 3, "GET /orders": 9}, "example": example,
            "statuses": {str(status): 12},
        },
    )  # fmt: skip
    assert wording.journal_mark(mark) == f"{wording.short_sentence(mark)}, 12 × at 4/s{said}"
    assert wording.mark(mark).startswith(f"{wording.short_sentence(mark)}: 12 × at 4/s{said}, statuses {status}: 12. ")


@pytest.mark.parametrize(
    ("id_", "at_users", "at_rate"),
    [
        ("not_saturated", "Add users", "Offer a higher rate"),
        ("noisy_neighbours", "measure the same user counts again", "measure the same offered rates again"),
    ],
)
def test_advice_about_a_level_of_an_offered_rate_names_rates_and_not_users(id_: str, at_users: str, at_rate: str) -> None:
    assert at_users in wording.advice(Bottleneck(name=id_, users_at=40.0))
    assert at_rate in wording.advice(Bottleneck(name=id_, offered_at_per_s=220.0))

"""Faults in watched parts: ids are known, and a mark is right for one part and wrong for another."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.events import Mark, PartState, Sample
from capexplorer.model.findings import Bottleneck
from capexplorer.model.readings import HostReading
from lab.kit.runs import Ran
from lab.trial import Judged, Result
from lab.trials.parts.shop import Host, Place
from lab.trials.parts.trial import ALL, judge, judged

ROW = ALL["db-lock"]
WITHOUT_BLAME = ["healthy", "proxy-upstream-connections"]
"""Rows in which no part may be blamed: nothing is wrong, or nginx's status page does not count missing worker connections."""


def mark(name: str, part: str | None) -> Mark:
    found = Bottleneck(name=name, part=part, users_at=16.0)
    return Mark(t_s=1.0, key=f"{name}:{part}", state="open", finding=found, severity="warning")


def test_rows_name_known_ids_and_all_but_two_blame_a_part() -> None:
    assert {each for row in ALL.values() for each in (*row.expected, *row.also_true)} <= set(ENTRIES)
    assert [name for name, row in ALL.items() if not row.expected] == WITHOUT_BLAME


@pytest.mark.parametrize(
    ("place", "part", "missing", "wrong"),
    [
        ("namespaces", "db", (), ()),
        ("namespaces", "web", ("lock_waits",), ("lock_waits of web",)),
        ("namespaces", None, ("lock_waits",), ("lock_waits of no part",)),
        ("here", None, ("lock_waits",), ("lock_waits of proxy",)),
    ],
)
def test_the_right_cause_of_another_part_is_wrong(
    place: Place, part: str | None, missing: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    found = judge(ROW, place, [mark("lock_waits", part)], others=0.0)
    assert (found.missing, found.wrong) == (missing, wrong)


def test_a_mark_of_other_processes_is_right_only_where_they_used_cpu() -> None:
    found = [mark("lock_waits", "db"), mark("noisy_neighbours", None)]
    assert judge(ROW, "namespaces", found, others=0.5).right
    assert judge(ROW, "namespaces", found, others=0.0).wrong == ("noisy_neighbours of no part",)


def result(others: float, *marks: Mark) -> Result:
    host = HostReading(cpu_ratio=others)
    sample = Sample(t_s=1.0, level=0, duration_s=1.0, users=4, wanted=4, phase="settled", settled=True, host=host)
    found: Judged = judged(ROW, "namespaces", Ran((sample, *marks)))
    return Result(case=ROW.name, **msgspec.structs.asdict(found))


def test_a_fault_that_is_missed_beside_busy_neighbours_is_spoilt_and_a_wrong_mark_beside_them_is_wrong() -> None:
    assert not result(0.1).spoilt and not result(0.1).right
    assert result(1.5).spoilt and result(1.5, mark("noisy_neighbours", None)).spoilt
    assert result(1.5, mark("lock_waits", "db")).right
    assert not result(1.5, mark("host_cpu_saturated", "db")).spoilt


@pytest.mark.parametrize(
    ("host", "reader", "offset_s", "wrong"),
    [
        ("without python", "shell", 0.4, ()),
        ("without python", "python", 0.0, ("db read by python",)),
        ("clock off", "python", 90.02, ()),
        ("clock off", "python", 0.0, ("clock of db reported as 0.0 s off",)),
    ],
)
def test_a_host_must_have_been_read_under_the_condition_of_its_row(
    host: Host, reader: Literal["python", "shell"], offset_s: float, wrong: tuple[str, ...]
) -> None:
    part = PartState(t_s=1.0, name="db", state="read", reader=reader, clock_offset_s=offset_s, clock_error_s=0.01)
    row = msgspec.structs.replace(ROW, host=host)
    assert judged(row, "namespaces", Ran((part, mark("lock_waits", "db")))).wrong == wrong

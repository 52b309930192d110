"""Rows and verdicts of faults in watched parts: known ids, and blame that is right of one part and wrong of another."""

from __future__ import annotations

import pytest

from capexplorer.analysis.causes.catalogue import ENTRIES
from capexplorer.model.events import Mark
from capexplorer.model.findings import Bottleneck
from trials.parts.judge import judge
from trials.parts.row import Place
from trials.parts.rows import ALL


def mark(name: str, part: str | None) -> Mark:
    found = Bottleneck(name=name, part=part, users_at=16.0)
    return Mark(t_s=1.0, key=f"{name}:{part}", state="open", finding=found, severity="warning")


def test_rows_name_known_ids_and_one_row_has_no_fault() -> None:
    assert {each for row in ALL.values() for each in (*row.expected, *row.true_too)} <= set(ENTRIES)
    assert [name for name, row in ALL.items() if not row.expected] == ["healthy"]


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
    verdict = judge(ALL["db-lock"], place, [mark("lock_waits", part)], others=0.0)
    assert (verdict.missing, verdict.wrong) == (missing, wrong)


def test_neighbours_may_be_named_where_there_are_any() -> None:
    found = [mark("lock_waits", "db"), mark("noisy_neighbours", None)]
    assert judge(ALL["db-lock"], "namespaces", found, others=0.5).right
    assert judge(ALL["db-lock"], "namespaces", found, others=0.0).wrong == ("noisy_neighbours of no part",)

"""Every kind of clause of the verdict line has its words in `capexplorer/wording/verdict.py`."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from capexplorer.model import conclusions
from capexplorer.model.figures import LevelFigures
from capexplorer.model.load import Rate, Users
from capexplorer.wording.verdict import clause, warm


@pytest.mark.parametrize("kind", get_args(conclusions.Clause), ids=lambda kind: kind.__name__)
def test_a_kind_of_clause_has_words_of_its_own(kind: type) -> None:
    assert clause.dispatch(kind) is not clause.dispatch(object)


def test_clauses_about_stalls_and_disks_have_their_figures() -> None:
    disk = conclusions.DiskUsedByOthers(others_bytes_per_s=399 << 20, users=(24.0, 48.0))
    assert (
        clause(disk)
        == "other processes keep the service's disk busy (399 MiB/s) at 24 and 48 users: results there may be too low"
    )
    at_rates = msgspec.structs.replace(disk, users=(), per_s=(20.0, 40.0, 60.0))
    assert clause(at_rates).endswith("at 20/s to 60/s offered: results there may be too low")
    stall = conclusions.ShortStall(at_s=10.0, seconds=2, times=1, load=Users(20))
    assert clause(stall) == "at 00:10 and 20 users no reply came for at least 2 s, which the level's figures contain"
    assert clause(msgspec.structs.replace(stall, load=Rate(40.0))).startswith("at 00:10 and 40/s offered no reply came")


def test_users_who_poll_have_the_requests_of_a_task_and_the_rate_of_results() -> None:
    polled = conclusions.UsersPoll(users=(3, 150), requests_per_task=(2.9, 58.8), tasks_per_s=23.28)
    assert clause(polled) == (
        "a task has 59 requests at 150 users and 3 at 3, each as quick: users ask until a result is there, and get 23.3/s; "
        "[work] counts results alone"
    )


def test_words_for_an_object_that_is_not_a_clause_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="no words for str"):
        clause("not a clause")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ratio", "sentence"), [(0.0, "0% of its users warm"), (0.4, "40% of its users warm"), (0.95, ""), (1.0, ""), (None, "")]
)
def test_the_share_of_warm_users_is_shown_while_it_is_too_small_to_settle(ratio: float | None, sentence: str) -> None:
    assert warm(LevelFigures(settled=False, warm_ratio=ratio)) == sentence

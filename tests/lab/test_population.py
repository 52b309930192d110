"""The population: sessions repeat, truths are exact, scores of two commits are compared, and unseen seeds are kept unseen."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import numpy as np
import pytest

from lab.population import figures, score
from lab.population.__main__ import main, parsed
from lab.population.families import rate_truth
from lab.population.limited import TwoEndpoints
from lab.population.score import FAMILIES
from lab.population.stated import Header, Line, line
from lab.population.truth import Knee, RunLevel, Truth
from lab.simulation import exact
from lab.simulation.queues import System

KNEE = Line(
    family="ladder-a",
    seed=1,
    knees=((40.0, 40.0),),
    kind="knee",
    load=42.0,
    low=35.0,
    high=45.0,
    limit="queueing",
    limits=("queueing",),
)


def test_a_seed_of_a_family_is_one_session_whether_simulated_or_judged_from_its_log(tmp_path: Path) -> None:
    family, path = FAMILIES["rates-queue"], tmp_path / "log"
    one, other = family.session(3), family.session(3)
    assert one.events == other.events
    score.write_log(path, one)
    judged = score.read_log(path)
    assert judged.truth == one.truth
    told, again = (line("rates-queue", 3, each.truth, each.timeline) for each in (one, judged))
    assert (again.kind, again.load, again.sentence) == (told.kind, told.load, told.sentence)


def test_every_family_says_how_it_is_explored_and_what_is_true_of_it() -> None:
    assert [name for name, each in FAMILIES.items() if not each.docstring] == []
    assert [name for name in FAMILIES if not name.startswith(tuple(f"{way}-" for way in figures.EXPLORED))] == []


def test_a_refusing_queue_serves_what_the_exact_formula_says() -> None:
    assert exact.limited_goodput(10.0, exact.servers(3, 0.1), 3) == pytest.approx(
        10.0 * (1 - 1 / 16)
    )  # Erlang: 1/6 over 1 + 1 + 1/2 + 1/6


def test_the_capacity_of_a_service_with_short_queue_reaches_from_the_measured_goodput_to_that_of_its_servers() -> None:
    true = rate_truth(System(0.1, 0.0, servers=3, queue_limit=3), top_per_s=10.0)
    assert true.knees[0][:2] == pytest.approx((9.375, 30.0))


def test_the_greatest_timely_goodput_of_one_server_is_that_of_its_exponential_sojourn() -> None:
    # of M/M/1 the sojourn is exponential: goodput is r (1 - exp(-(100 - r) 0.1))
    most = max(rate * (1 - 2.718281828 ** (-(100 - rate) * 0.1)) for rate in range(1, 100))
    assert exact.timely_goodput(1, 0.01, 0.1) == pytest.approx(most, rel=0.01)


def test_beyond_the_capacity_of_one_endpoint_the_other_ones_share_is_still_served() -> None:
    system, share = System(0.02, 0.0), 0.5  # 50/s of one endpoint, so goodput leaves the offered rate at 100/s
    both = TwoEndpoints(system, np.random.default_rng(1), share)
    for per_s, goodput in ((80.0, 80.0), (160.0, 130.0)):
        both.offer(per_s)
        both.until(both.now_s + 20)
        assert len(both.until(both.now_s + 150)) / 150 == pytest.approx(goodput, rel=0.03)


LEVELS = (RunLevel(10, 0, 20, 15), RunLevel(20, 20, 40, 15), RunLevel(50, 40, 60, 15))


@pytest.mark.parametrize(
    ("knee", "levels", "is_due"),
    [
        (Knee(40, 40), LEVELS, True),
        (Knee(45, 45), LEVELS, False),  # the last level is not far beyond it
        (Knee(40, 40, until_s=50), LEVELS, False),  # it changed in that level
        (Knee(40, 40), (LEVELS[0], LEVELS[2]), False),
        (Knee(40, 40), (*LEVELS[:2], LEVELS[2]._replace(settled_s=4)), False),
    ],
)
def test_a_knee_is_due_where_settled_levels_of_one_service_are_on_both_of_its_sides(
    knee: Knee, levels: tuple[RunLevel, ...], is_due: bool
) -> None:
    assert Truth((knee,), ()).is_due(levels) is is_due


def changed(**fields: object) -> Line:
    return msgspec.structs.replace(KNEE, **fields)


@pytest.mark.parametrize(
    ("found", "is_false", "covers"),
    [
        (KNEE, False, True),
        (changed(load=60.0, low=50.0, high=70.0), True, False),
        (changed(load=42.0, knees=()), True, None),
        (changed(load=48.0, low=47.0, high=49.0, knees=((40.0, 48.0),)), False, True),
        (changed(kind="capacity", at_rates=True, load=47.0), True, True),  # 17% from it
    ],
)
def test_a_knee_is_false_if_the_service_never_had_it(found: Line, is_false: bool, covers: bool | None) -> None:
    assert (found.is_false, found.covers) == (is_false, covers)


def test_a_planted_difference_is_found_by_pairs_and_in_its_direction() -> None:
    old = [msgspec.structs.replace(KNEE, seed=seed, due=True) for seed in range(10)]
    new = [msgspec.structs.replace(each, load=70.0, low=60.0, high=80.0) if each.seed < 6 else each for each in old]
    rows = {name: row for name, *row in figures.compared(list(zip(old, new, strict=True)))}
    assert rows["false knee"] == [10, "0", "6", 6, 0, f"{2 / 2**6:.3f}"]
    assert rows["interval holds it"][1:5] == ["10", "4", 0, 6]
    assert rows["half width (less, more)"][3:5] == [0, 6]
    assert rows["limit right"][3:5] == [0, 0]


def test_unseen_seeds_need_the_word(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(["score", "--split", "unseen", "--save", "x"])
    assert "--unseen" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parsed(["score", "--first", "9990", "--count", "11", "--save", "x"])  # the next split


def test_a_score_is_written_and_compared_with_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "score.jsonl"
    score.save(file, score.Wanted(["ladder-queue"], range(2)), 1)
    assert [(each.family, each.seed) for each in score.read(file)] == [("ladder-queue", seed) for seed in range(2)]
    assert main(["compare", str(file), str(file)]) == 0
    assert "2 sessions of both, 0 changed" in capsys.readouterr().out


def test_a_kept_score_has_the_sentences_of_wrong_sessions_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "RESULTS", tmp_path)
    told = changed(sentence="Knee at 42 users.", forbidden=("falls",))
    wrong = changed(seed=2, said=("falls",), forbidden=("falls", "fault"), sentence="It falls.")
    file = tmp_path / "score"
    head = Header(commit="abc", seeds=(1, 3))
    file.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in (head, told, wrong)))
    score.keep(file)
    assert [(each.sentence, each.wrongly_said) for each in score.read(tmp_path / "population.jsonl")] == [
        ("", ()),
        ("It falls.", ("falls",)),
    ]
    assert "| all | 2 |" in score.page()


def test_wrong_statements_are_those_that_the_truth_forbids() -> None:
    said = dataclasses.replace(Truth((), ()), forbidden=("changed",))
    assert changed(said=("changed", "falls"), forbidden=said.forbidden).wrongly_said == ("changed",)

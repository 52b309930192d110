"""The result of an A/B run: the figures of a block, what pairs of blocks decide, and its documents."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest
from kit.scenario import Scenario

from capexplorer.model.load import Load, Rate, Users
from capexplorer.report.ab import formats, page
from capexplorer.report.ab.result import Block, Figures, Finding, Letter, Result, Side, in_order, questions

LOW, HIGH = Users(20), Users(60)


def block(side: Letter, load: Load, pair: int, per_s: float, p95_ms: float, failures: int = 0, repeat: int = 1) -> Block:
    figures = Figures(
        level=pair, seconds=6.0, goodput_per_s=per_s, mean_ms=p95_ms / 2, p95_ms=p95_ms, requests=1_000, failures=failures
    )
    return Block(side=side, load=load, repeat=repeat, pair=pair, began_s=0.0, figures=figures)


def result(blocks: Sequence[Block], **changes: object) -> Result:
    given = {
        "a": Side(given="main", understood="git ref main (a08169b8)"),
        "b": Side(given="fix", understood="git ref fix (57303522)"),
        "loads": (LOW, HIGH), "beyond_knee": True, "until": 0.05, "within_s": 600.0, "repeats": 1, "seed": 7,
        "blocks": tuple(blocks), "took_s": 365.0, "ended": "decided",
    } | changes  # fmt: skip
    return Result(**given)  # type: ignore[arg-type]


NOISE = (0.004, -0.006, 0.001, -0.003, 0.005, -0.002, 0.006, -0.005)
"""Relative, of the blocks of B."""


def measured(
    pairs: int = 8, capacity: float = 1.0, p95: float = 1.0, failures: int = 0, noise: float = 1.0, **changes: object
) -> Result:
    """Pairs whose B has so many times the figures of A, and noise."""
    blocks = []
    for number, error in enumerate(NOISE[:pairs], 1):
        error *= noise
        blocks += [
            block("A", HIGH, number, 150.0, 400.0),
            block("B", HIGH, number, 150 * capacity * (1 + error), 400.0, failures),
        ]
        blocks += [block("A", LOW, number, 50.0, 80.0), block("B", LOW, number, 50.0, 80 * p95 * (1 + error))]
    return result(blocks, **changes)


def answered(found: Result) -> dict[str, str | None]:
    """The answer of each figure; of failures that of the greatest load."""
    return {each.figure: each.answer for each in found.answers}


@pytest.mark.parametrize(
    ("found", "capacity", "p95", "exit_code"),
    [
        (measured(), "equal", "equal", 0),
        (measured(capacity=0.95), "lower", "equal", 3),
        (measured(capacity=1.05), "higher", "equal", 0),
        (measured(capacity=0.97), "equal", "equal", 0),  # it is lower, and known to be less than 5%
        (measured(p95=1.1), "equal", "higher", 3),
        (measured(p95=0.9), "equal", "lower", 0),
        (measured(capacity=1.05, p95=1.1), "higher", "higher", 3),
        (measured(noise=30), "undecided", "undecided", 5),
        (measured(pairs=3), "undecided", "undecided", 5),
        (measured(pairs=3, ended="failed"), "undecided", "undecided", 4),
        (measured(pairs=0), None, None, 5),
    ],
)
def test_pairs_decide_capacity_and_p95(found: Result, capacity: str | None, p95: str | None, exit_code: int) -> None:
    answers = answered(found)
    assert (answers.get("capacity"), answers.get("p95"), found.exit_code) == (capacity, p95, exit_code)
    assert found.is_decided == (exit_code in (0, 3))


def test_more_failed_requests_make_b_worse_and_none_delay_the_answer() -> None:
    assert answered(measured())["failures"] == "undecided"
    failing = measured(failures=30)
    assert answered(failing)["failures"] == "higher"
    assert failing.exit_code == 3


def test_a_single_load_is_asked_for_both() -> None:
    assert {each.figure: each.least for each in questions((HIGH,), 0.05, beyond_knee=False)} == {
        "goodput": 0.05, "mean": None, "p95": 0.1, "failures": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize("loads", [(HIGH,), (LOW, HIGH), (Users(1), LOW, HIGH)])
def test_all_questions_share_an_error_of_5_percent(loads: tuple[Load, ...]) -> None:
    asked = [each for each in questions(loads, 0.05, beyond_knee=True) if each.least is not None]
    assert math.fsum(each.error for each in asked) == pytest.approx(0.05)


def test_restarts_are_the_units_where_there_are_several() -> None:
    """Five starts that differ by more than their pairs: with pairs as units the change would seem to be known."""
    of_start = (-0.12, 0.02, -0.1, 0.03, -0.04)
    blocks = [
        block(side, HIGH, 4 * repeat + number, 150 * math.exp(change * (side == "B")) * (1 + NOISE[number]), 400.0, repeat=repeat)
        for repeat, change in enumerate(of_start, 1)
        for number in range(4)
        for side in ("A", "B")
    ]
    by_pair, by_start = (result(blocks, loads=(HIGH,), repeats=repeats) for repeats in (1, 5))
    widths = [
        one.high - one.low for one in (by_pair.answers[0], by_start.answers[0]) if one.low is not None and one.high is not None
    ]
    assert by_pair.answers[0].change == pytest.approx(by_start.answers[0].change)
    assert widths[1] > 2 * widths[0]


def test_an_unfinished_pair_does_not_count() -> None:
    found = measured()
    more = result([*found.blocks, block("A", HIGH, 9, 10.0, 400.0)])
    assert more.findings == found.findings
    assert more.pairs == found.pairs


def test_loads_are_ascending() -> None:
    assert in_order([Users(40), Users(10), Users(40)]) == (Users(10), Users(40))
    assert in_order([Rate(200.0), Rate(50.0)]) == (Rate(50.0), Rate(200.0))


# -- the figures of a block


def test_a_block_has_the_figures_of_its_level() -> None:
    (level,) = Scenario().level(users=4, seconds=6, rps=90, failed=3, p99_ms=12, settling=2).timeline.levels
    found = Figures.of([level])
    assert found is not None
    assert (found.seconds, found.goodput_per_s, found.requests, found.failures) == (6.0, 87.0, 540, 18)
    assert (found.mean_ms, found.p95_ms) == (level.figures.latency_ms.mean, level.figures.latency_ms.p95)


def test_a_block_that_a_change_of_the_service_split_has_the_figures_of_both_levels() -> None:
    levels = Scenario().level(users=4, seconds=2, rps=90, p99_ms=12).level(users=4, seconds=4, rps=60, p99_ms=24).timeline.levels
    found = Figures.of(levels)
    assert found is not None
    assert (found.level, found.seconds, found.goodput_per_s, found.requests) == (0, 6.0, 70.0, 420)
    means = [each.figures.latency_ms.mean or 0.0 for each in levels]
    assert found.mean_ms == pytest.approx((180 * means[0] + 240 * means[1]) / 420)


@pytest.mark.parametrize("level", [{"seconds": 0, "settling": 3, "p99_ms": 12}, {"seconds": 3, "rps": 5, "failed": 5}])
def test_without_a_settled_success_there_are_no_figures(level: dict[str, float]) -> None:
    assert Figures.of(Scenario().level(users=4, **level).timeline.levels) is None  # type: ignore[arg-type]


# -- documents


def test_the_document_has_blocks_answers_and_the_exit_code() -> None:
    found = measured(capacity=0.95)
    read = json.loads(formats.json(found))
    assert (read["schema"], read["exit_code"], read["run"]["seed"], len(read["run"]["blocks"])) == ("capexplorer.ab/1", 3, 7, 32)
    assert [(each["figure"], each["answer"]) for each in read["findings"]] == [
        ("goodput", None), ("mean", None), ("p95", "equal"), ("failures", "undecided"),
        ("capacity", "lower"), ("mean", None), ("p95", None), ("failures", "undecided"),
    ]  # fmt: skip
    low, high = (read["findings"][4][name] for name in ("low", "high"))
    assert low < -0.05 < high < 0


def test_an_interval_that_is_not_known_is_null() -> None:
    read = json.loads(formats.json(measured(pairs=2)))
    assert {(each["low"], each["high"]) for each in read["findings"]} == {(None, None)}


def test_foreign_text_is_escaped_in_markdown() -> None:
    a = Side(given="x", understood="the command `a | <b>`")
    assert r"\`a \| " in formats.markdown(measured(a=a)).decode()


def test_foreign_text_is_escaped_in_the_page_which_has_a_chart_of_each_question_with_a_dot_a_pair() -> None:
    text = page.render(measured(a=Side(given="x", understood="<b>"), warnings=("<i>",))).decode()
    assert "<b>" not in text and "<i>" not in text
    assert (text.count("<svg"), text.count("<circle")) == (2, 16)


def test_a_result_without_pairs_has_a_document() -> None:
    none = measured(pairs=0, loads=(), ended="interrupted")
    assert page.render(none)
    assert json.loads(formats.json(none))["findings"] == []
    assert formats.markdown(none)


def test_a_better_figure_is_the_greater_of_goodput_and_the_lesser_of_others() -> None:
    def finding(figure: str, answer: str) -> Finding:
        return Finding(figure=figure, load=HIGH, a=1.0, b=1.0, change=0.0, low=None, high=None, pairs=8, answer=answer)  # type: ignore[arg-type]

    assert (
        finding("capacity", "higher").is_better and finding("p95", "lower").is_better and finding("failures", "lower").is_better
    )
    assert finding("capacity", "lower").is_better is False and finding("failures", "higher").is_better is False
    assert finding("p95", "equal").is_better is None

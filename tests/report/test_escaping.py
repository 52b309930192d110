"""Text of users and services is inert in HTML, Markdown and CSV."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capexplorer.report import escaping

from .exported_sessions import HOSTILE

INVISIBLE = ["\x1b", "\x00", "\x07", "\x7f", "\x9b", "\u202e", "\u2066", "\u200f", "\ufeff", "\u2028", "\n", "\r", "\t", "\ud800"]


@pytest.mark.parametrize("character", INVISIBLE, ids=[f"U+{ord(each):04X}" for each in INVISIBLE])
def test_control_and_invisible_characters_are_replaced_by_visible_ones(character: str) -> None:
    shown = escaping.visible(f"a{character}b")
    assert character not in shown
    assert len(shown) > 2
    shown.encode()  # raises an error for a surrogate


def test_letters_of_any_script_and_emoji_are_not_replaced() -> None:
    for text in ("é", "日本語", "שלום", "👩‍🚀", "ก็"):
        assert escaping.visible(text) == text


def test_hostile_text_is_escaped_and_isolated_in_html() -> None:
    shown = escaping.foreign(HOSTILE)
    assert shown.startswith("<bdi>")
    assert shown.endswith("</bdi>")
    inside = shown.removeprefix("<bdi>").removesuffix("</bdi>")
    assert not set("<>\"'") & set(inside)
    assert "\u202e" not in shown


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_no_text_ends_its_markdown_code_span_or_table_cell(text: str) -> None:
    shown = escaping.code(text)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    inside = shown[len(fence) : -len(fence)]
    assert shown.endswith(fence)
    assert fence not in [run for run in inside.replace("|", "").split() if set(run) == {"`"}], "the text ends the span"
    assert "\n" not in shown
    assert "|" not in inside.replace("\\|", ""), "the text ends the table cell"


def test_hostile_text_makes_no_link_markup_or_mention_in_markdown() -> None:
    shown = escaping.markdown(HOSTILE)
    assert "<" not in shown
    assert "](" not in shown.replace("\\]", "")
    assert "@everyone" not in shown
    assert "http://" not in shown


def test_right_to_left_text_is_isolated_in_markdown() -> None:
    assert escaping.code("שלום") == "`\u2068שלום\u2069`"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "＝1+1", "＋1", "－1", "＠SUM(A1)", "﹦1"])
def test_no_csv_cell_is_a_formula(text: str) -> None:
    """Neither with the usual sign nor with a full-width or small one, which some spreadsheets take for it."""
    assert escaping.cell(text) in (f"'{text}", "␉=1")


@given(st.text(max_size=60))
def test_a_csv_cell_is_one_line(text: str) -> None:
    written = io.StringIO()
    csv.writer(written).writerow([escaping.cell(text), "next"])
    assert len(written.getvalue().splitlines()) == 1

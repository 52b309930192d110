"""Templates of pages escape all text that is not markup, and none turns escaping off."""

from __future__ import annotations

import re
from importlib import resources

import jinja2
import pytest
from markupsafe import Markup

from capexplorer.report import escaping

from .exported_sessions import HOSTILE

TEMPLATES = sorted(
    path.name for path in resources.files("capexplorer.report").joinpath("templates").iterdir() if path.name.endswith(".html")
)


@pytest.fixture
def text_template(monkeypatch: pytest.MonkeyPatch) -> jinja2.Environment:
    """A template `text.html`, in the environment of the pages, that has `text` in an element and in an attribute."""
    environment = escaping._environment().overlay(loader=jinja2.DictLoader({"text.html": "<p title='{{ text }}'>{{ text }}</p>"}))
    monkeypatch.setattr(escaping, "_environment", lambda: environment)
    return environment


@pytest.mark.usefixtures("text_template")
def test_hostile_text_is_inert_in_an_element_and_in_an_attribute() -> None:
    shown = escaping.page("text.html", text=HOSTILE).decode()
    assert shown.count("<") == 2, "the tags of the template only"
    assert shown.count("'") == 2, "the quotes of the template only"
    assert "\u202e" not in shown
    assert "\x1b" not in shown


@pytest.mark.usefixtures("text_template")
def test_markup_is_not_escaped_twice() -> None:
    assert escaping.page("text.html", text=Markup("<b>x</b>")) == b"<p title='<b>x</b>'><b>x</b></p>"


@pytest.mark.usefixtures("text_template")
def test_a_missing_template_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="text"):
        escaping.page("text.html")


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_turns_escaping_off(name: str) -> None:
    text = resources.files("capexplorer.report").joinpath("templates", name).read_text("utf-8")
    assert not re.search(r"\|\s*safe|autoescape", text)

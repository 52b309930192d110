"""Escapes untrusted text, with one function for each format: all text of a target, a profile, a log or a user passes here.

Control characters, and those that change the direction of text, are replaced by visible signs, since browsers and editors obey
them without showing them. Right-to-left text is isolated, so that it cannot reorder adjacent text.

HTML pages are Jinja2 templates, in which each printed value is escaped. Only `Markup` is not: styles, scripts, data and drawings,
which are made in this package. Text of a log must not be converted to Markup.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    import jinja2

_JOINERS = "\u200c\u200d"
"""Characters that join others, which emoji and Indic scripts need; they do not change the direction of text."""
_ISOLATE, _END = "\u2068", "\u2069"
_MARKDOWN = re.compile(r"([\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.)")
"""Characters that begin markup within a line, but not at its beginning. No others are escaped, since people also read the
source."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def visible(text: str) -> str:
    """The text as one line without hidden characters: ESC becomes ␛, a right-to-left override <U+202E>."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_sign, unicodedata.normalize("NFC", text)))


def _sign(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    category = unicodedata.category(character)
    if character not in _JOINERS and (category[0] == "C" or category in ("Zl", "Zp")):
        return f"<U+{code:04X}>"
    return character


def html(text: str) -> Markup:
    """The text of an element, or of a quoted attribute."""
    return escape(visible(text))


def foreign(text: str) -> Markup:
    """The text of an element, isolated by `<bdi>`."""
    return Markup("<bdi>{}</bdi>").format(visible(text))


def markdown(text: str) -> str:
    """Markdown for running text or a table's cell, without markup, links or mentions (each @ is followed by a word joiner)."""
    escaped = _MARKDOWN.sub(r"\\\1", _isolated(visible(text)))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "@\u2060")


def code(text: str) -> str:
    """A code span for Markdown, also within a table's cell, with the text as it was written."""
    shown = _isolated(visible(text)).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if not shown.strip() or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def markdown_spans(text: str) -> str:
    """Markdown of a line of advice: commands in backquotes become code spans, the rest is escaped."""
    parts = text.split("`")
    return "".join(code(part) if index % 2 and index < len(parts) - 1 else markdown(part) for index, part in enumerate(parts))


def html_spans(text: str) -> Markup:
    """HTML of a line of advice: commands in backquotes become `<code>`, the rest is escaped."""
    parts = text.split("`")
    code = Markup("<code>{}</code>")
    shown = (
        code.format(visible(part)) if index % 2 and index < len(parts) - 1 else html(part) for index, part in enumerate(parts)
    )
    return Markup("").join(shown)


def cell(text: str) -> str:
    """A CSV cell on one line, which a spreadsheet does not take for a formula (OWASP, CSV injection)."""
    shown = visible(text)
    first = unicodedata.normalize("NFKC", shown[:1])  # spreadsheets take a full-width sign for the usual one
    return f"'{shown}" if first in _FORMULA else shown


def annotation(text: str, *, of_title: bool = False) -> str:
    """Text of a workflow command of GitHub Actions, which ends at a line end; a title ends also at a comma or a colon."""
    shown = visible(text).replace("%", "%25")
    return shown.replace(":", "%3A").replace(",", "%2C") if of_title else shown


def _isolated(text: str) -> str:
    return f"{_ISOLATE}{text}{_END}" if any(unicodedata.bidirectional(each) in ("R", "AL", "AN") for each in text) else text


def page(template: str, **values: object) -> bytes:
    """One HTML page. Raises jinja2.UndefinedError if a value of the template is missing."""
    return _environment().get_template(template).render(values).encode()


@cache
def _environment() -> jinja2.Environment:
    import jinja2  # takes 0.05 s: not needed at the start of the picker and the screen

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("capexplorer.report"),
        autoescape=True,
        finalize=_printed,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"foreign": foreign, "html_spans": html_spans}
    return environment


def _printed(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

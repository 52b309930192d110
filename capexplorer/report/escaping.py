"""Escapes foreign text, with one function for each medium: all text of a target, a profile, a log or a user passes here.

Control characters and what steers the direction of text are shown as signs, since neither a browser nor an editor shows them and
both obey them. Right-to-left text is isolated, so that it cannot reorder what stands beside it.
"""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

_JOINERS = "\u200c\u200d"
"""Emoji and Indic scripts need them, and they do not change direction."""
_ISOLATE, _END = "\u2068", "\u2069"
_MARKDOWN = re.compile(r"([\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.)")
"""Characters that begin markup inside a line. No others are escaped, since people also read the source. Not for the beginning of
a line."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def visible(text: str) -> str:
    """One line in which nothing is hidden: ESC becomes ␛, a right-to-left override <U+202E>."""
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
    """For an element's text or a quoted attribute."""
    return escape(visible(text))


def foreign(text: str) -> Markup:
    """For an element's text, isolated: `<bdi>`."""
    return Markup("<bdi>{}</bdi>").format(visible(text))


def markdown(text: str) -> str:
    """For running text or a table's cell: no markup, no link, no mention (a word joiner stands behind each @)."""
    escaped = _MARKDOWN.sub(r"\\\1", _isolated(visible(text)))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "@\u2060")


def code(text: str) -> str:
    """As a code span for Markdown, a table's cell included: the text stays as it was written."""
    shown = _isolated(visible(text)).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if not shown.strip() or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def markdown_spans(text: str) -> str:
    """Our own line with commands in backquotes: those stand as code spans, the rest is escaped."""
    parts = text.split("`")
    return "".join(code(part) if index % 2 and index < len(parts) - 1 else markdown(part) for index, part in enumerate(parts))


def html_spans(text: str) -> Markup:
    """The same for an element's text."""
    parts = text.split("`")
    code = Markup("<code>{}</code>")
    shown = (
        code.format(visible(part)) if index % 2 and index < len(parts) - 1 else html(part) for index, part in enumerate(parts)
    )
    return Markup("").join(shown)


def cell(text: str) -> str:
    """For a CSV cell: one line, and no formula when a spreadsheet opens it (OWASP, CSV injection)."""
    shown = visible(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def _isolated(text: str) -> str:
    return f"{_ISOLATE}{text}{_END}" if any(unicodedata.bidirectional(each) in ("R", "AL", "AN") for each in text) else text

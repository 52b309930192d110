"""Renders the HTML pages from Jinja2 templates. Each printed value is escaped, and its hidden characters are made visible.

Only `Markup` is printed unescaped: styles, scripts, data and drawings, which are made in this package. Text of a log must not be
converted to Markup.
"""

from __future__ import annotations

from functools import cache

import jinja2
from markupsafe import Markup

from .escaping import foreign, html_spans, visible


def render(template: str, **values: object) -> bytes:
    """One page. Raises jinja2.UndefinedError if a value of the template is missing."""
    return _environment().get_template(template).render(values).encode()


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("capexplorer.report"),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"foreign": foreign, "html_spans": html_spans}
    return environment


def _shown(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

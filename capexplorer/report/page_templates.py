"""Jinja2 templates of the HTML pages. Each printed value is escaped, and what hides or steers text is made visible.

Only `Markup` is printed as it is: style, script, data and drawings, all made here. Text of a log never becomes Markup by hand.
"""

from __future__ import annotations

from functools import cache

import jinja2
from markupsafe import Markup

from .escaping import foreign, html_spans, visible


def render(template: str, **values: object) -> bytes:
    """One page. A missing value that the template names is an error."""
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

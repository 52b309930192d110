"""What is secret and must never reach the log: header values, URL userinfo, values named like tokens. Pure.

Better one harmless value too many than one secret: `sort_key=name` loses its value too. Must not know events or files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

HIDDEN = "***"

_SECRET_WORDS = frozenset(
    "apikey auth authentication authorization bearer cookie credential credentials csrf jwt key oauth pass passphrase"
    " passwd password pwd secret secrets session sessionid sid sig signature token xsrf".split()
)
_SECRET_PARTS = ("password", "passwd", "secret", "apikey", "authtoken", "accesstoken", "sessid", "sessionid")
"""Told inside a name that no separator parts, e.g. PHPSESSID."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_USERINFO = re.compile(r"://[^\s/?#\"'<>]*@")
_NAME = r"(?<![\w.\-])(?P<name>[\w.\-]{1,100})"  # the look-behind keeps the search linear in long words
_ASSIGNED = re.compile(_NAME + r"(?P<sign>(?:\]|%5D)?=[\"']?)(?P<value>[^\s&;#\"'<>,)\]}]+)")
_OPTION = re.compile(r"(?<!\S)--?(?P<name>[\w.\-]{1,100})(?P<sign>\s+)(?P<value>[^\s\-]\S*)")
_QUOTED = re.compile(_NAME + r"(?P<sign>\\?[\"']\s*[:,]\s*b?)(?P<value>\\?\"[^\"]*\"|'[^']*'|\d[\w.\-]*)")
_HEADER = re.compile(
    r"(?<![\w\-])(?P<name>(?:proxy-)?authorization|(?:set-)?cookie|x-[\w\-]{0,40}(?:key|token|auth|secret))"
    r"(?P<sign>[\"']?\s*:\s*(?:b?[\"'])?)(?P<value>[^\r\n\"']+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(?P<name>bearer|basic)(?P<sign>\s+)(?P<value>(?=\S*[\d=._])[\w.~+/=\-]{6,})", re.IGNORECASE)
_COMMON_LENGTH = 400
"""Texts up to this are remembered: endpoint names and signatures come again every second."""


def is_secret_name(name: str) -> bool:
    """Whether a header, key, parameter or option of this name carries a secret: `X-Api-Key`, `accessToken`, `--password`."""
    words = {word.lower() for word in _WORD.findall(name)}
    return not words.isdisjoint(_SECRET_WORDS) or any(part in name.lower() for part in _SECRET_PARTS)


def text(value: str) -> str:
    """`value` without its secrets."""
    return _remembered(value) if len(value) <= _COMMON_LENGTH else _text(value)


def plain(value: Any, name: str = "") -> Any:
    """Nested plain values (dict, list, str, ...) without their secrets: by key, and by what the texts look like."""
    if isinstance(value, dict):
        return {key: plain(each, str(key) if not is_secret_name(name) else name) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(each, name) for each in value)
    if value is None or isinstance(value, bool):
        return value
    if name and is_secret_name(name):
        return HIDDEN
    return text(value) if isinstance(value, str) else value


def command(arguments: Sequence[str]) -> tuple[str, ...]:
    """A command line without its secrets: `--token=abc`, and the `abc` after a lone `--token` or `-H`'s header."""
    said = ("", *arguments)
    return tuple(
        HIDDEN if before.startswith("-") and "=" not in before and is_secret_name(before) else text(argument)
        for before, argument in zip(said, arguments, strict=False)
    )


@lru_cache(maxsize=4096)
def _remembered(value: str) -> str:
    return _text(value)


def _text(value: str) -> str:
    value = _USERINFO.sub(f"://{HIDDEN}@", value)
    value = _HEADER.sub(_hide, value)
    value = _SCHEME.sub(_hide, value)
    for pattern in (_ASSIGNED, _OPTION, _QUOTED):
        value = pattern.sub(_hide_if_secret, value)
    return value


def _hide_if_secret(found: re.Match[str]) -> str:
    return _hide(found) if is_secret_name(found["name"]) else found[0]


def _hide(found: re.Match[str]) -> str:
    value = found["value"]
    quote = value[0] if value[0] in "\"'" else ""
    before = found[0][: found.start("value") - found.start()]
    return f"{before}{quote}{HIDDEN}{quote}"

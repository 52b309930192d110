"""Removes secrets, which must never be in the log: credentials in URLs, values with the name of a secret, tokens of a known form,
and the values that this process knows to be secret.

In doubt a value is removed: `sort_key=name` loses its harmless value. Must not know events or files.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

HIDDEN = "***"

_SECRET_WORDS = frozenset(
    "apikey auth authentication authorization bearer cookie cookies credential credentials csrf jwt key oauth pass passphrase"
    " otp passcode passwd password pin pw pwd secret secrets session sessionid sid sig signature token totp xsrf".split()
)
_OF_CODES = frozenset(
    "access backup confirmation device invite login mfa recovery reset security sms verification verify".split()
)
"""Words that make a code a secret. Alone it is one only in a query or a form (OAuth), or as a string of digits (_CODE): `code` is
also the name of what services answer with an error.
"""
_SECRET_PARTS = ("password", "passwd", "secret", "apikey", "authtoken", "accesstoken", "sessid", "sessionid")
"""Parts of names without separators that make them names of secrets, such as in PHPSESSID."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LETTERS_OF_DIGITS = str.maketrans("01345", "oleas")
"""Digits that are written for letters, as in PASSW0RD or s3cret."""

_USERINFO = re.compile(r"://(?:[^\s/?#\"'<>]*|[^\s/?#\"'<>:]*:(?!\d{1,5}[/?#])[^\s\"'<>]{0,200})@")
"""Credentials in a URL, even if the password contains an unencoded `/`, `?` or `#`."""
_USER_PASSWORD = re.compile(r"(?<![\w.+\-:/@])[\w.+\-]{1,100}:[^\s/@:\"'<>]{1,200}@(?=[\w\[])")
"""Credentials without a scheme, as in `user:password@host:80`."""

_NAME = r"(?<![\w.\-])(?P<name>[\w.\-]{1,100})"  # the look-behind keeps the search linear in long words
_QUOTED_VALUE = (
    r"\\\"(?:[^\"\\]|\\\\(?:\\\")?|\\[^\"\\])*(?:\\\"|\Z)"  # \"...\", as in a string that is itself in quotes
    r"|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|'(?:[^'\\]|\\.)*(?:'|\\?\Z)"
)
"""A value in quotes, also with escaped quotes inside, and without its end where the text was cut."""
_BARE_VALUE = r"(?:[^\s&;#\"'<>,)\]}]|[,;)\]}](?=[\w!$%*+/:@^~\-])(?![\w.\-]{1,40}=))+"
"""A value without quotes. A comma or a bracket ends it, unless a word follows that is not the next `name=`."""
_NAMED = (
    (rf"{_NAME}(?:\]|%5D)?[ \t]{{0,3}}=[ \t]{{0,3}}", rf"{_QUOTED_VALUE}|{_BARE_VALUE}"),
    (r"(?<![^\s\"'])--?(?P<name>[\w.\-]{1,100})\s+", rf"{_QUOTED_VALUE}|[^\s\-]\S*"),
    (rf"{_NAME}\\?[\"']\s*[:,]\s*b?", rf"{_QUOTED_VALUE}|\d[\w.\-]*"),
    (rf"{_NAME}\s{{0,3}}:\s{{0,3}}", _QUOTED_VALUE),
)
"""Patterns of (name, value) in `name=value`, `--name value`, `"name": value` and `name: "value"` (GraphQL). A value is matched
only after the name of a secret: so the search is linear, and also finds `--env=TOKEN=abc` and values in a quoted command."""
_SECRETS = tuple((re.compile(name), re.compile(value)) for name, value in _NAMED)
_LABELLED = re.compile(
    r"(?<![\w.\-])(?P<name>[\w.\-]{0,40}(?:passw[o0]rd|passwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key))"
    r"(?P<separator>:[ \t]{1,3})(?P<value>(?=\S*[\d=_+/])[^\s\"'\-]\S{5,})",
    re.IGNORECASE,
)
"""`password: hunter2`, as in YAML. `token: expected a name` is no secret, since the value has no digit."""
_HEADER = re.compile(
    r"(?<![\w\-])(?P<name>(?:proxy-)?authorization|(?:set-)?cookie|x-[\w\-]{0,40}(?:key|token|auth|secret))"
    r"(?P<separator>[\"']?\s*:\s*(?:b?[\"'])?)(?P<value>[^\r\n\"']+(?:(?<==)\"[^\r\n\"]*\"[^\r\n\"']*|(?<==\\)\"[^\r\n\"]*\"[^\r\n\"']*)*)",
    re.IGNORECASE,
)
"""With the quoted parameters of its value, as those of Digest and WSSE."""
_SCHEME = re.compile(
    r"\b(?P<name>(?i:bearer|basic))(?P<separator>(?:\s|%20|\+)+)(?P<value>(?=\S*[\d=._]|\S*[a-z][A-Z])[\w.~+/=\-]{6,})"
)
_COOKIES = re.compile(r"(?P<name>\bcookies?)(?P<separator>[\"']?\s*[=:]\s*)(?P<value>\{[^}]{0,4000}\})", re.IGNORECASE)
_COOKIE = re.compile(r"(?P<name><Cookie [^\s=]{1,100})(?P<separator>=)(?P<value>[^\s>]+)")
_LOGIN = re.compile(r"(?<!\S)(?P<name>-u|--user|--proxy-user)(?P<separator>[ =]?)(?P<value>[^\s:]{1,100}:\S+)")
"""Credentials as an option of curl."""

_PASSWORD_OPTIONS = {
    re.compile(r"sshpass|mysql\w*|mariadb[\w\-]*|mongo\w*|7z[ar]?"): "-p",
    re.compile(r"redis-cli"): "-a",
    re.compile(r"ldap\w+"): "-w",
}
"""Programs with an option of one letter for a password, which may follow it directly."""
_PASSWORD_OPTION = tuple(
    re.compile(rf"(?P<name>(?<![\w.\-])(?:{program.pattern})(?![\w.\-])(?:\s+(?!{option})[^\s|;&]+){{0,20}}\s+{option})"
               rf"(?P<separator>\s*)(?P<value>{_QUOTED_VALUE}|[^\s|;&]+)")
    for program, option in _PASSWORD_OPTIONS.items()
)  # fmt: skip
_CODE = re.compile(
    r"(?P<name>(?:[?&]|\A|(?<=\s))code|\\?[\"']code\\?[\"'])(?P<separator>=|\s*:\s*\\?[\"'](?=\d{4,10}\\?[\"']))(?P<value>[^&\s\"'\\#]{4,})"
)
_DIGEST = re.compile(r"(?P<name>\bresponse)(?P<separator>=\\?\"?)(?P<value>[0-9a-fA-F]{32,128})")
"""What a client of Digest authentication answers."""
_XML = re.compile(r"<(?P<name>[\w.:\-]{1,100})(?P<attributes>[^<>]*)>(?P<value>[^<]*)(?=<|\Z)")
_WEBHOOK = re.compile(
    r"(?P<name>hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
    r"|webhook\.office\.com|api\.telegram\.org)(?P<separator>/)(?P<value>[^\s\"'<>\\?#]+)"
)
"""Addresses by which anybody can post: the path is the secret."""
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w\-]{16,}|xox[a-z]-[\w\-]{8,}|xapp-[\w\-]{8,}"
    r"|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|sk-[\w\-]{20,}|AIza[\w\-]{35}|npm_[A-Za-z0-9]{36}|pypi-[\w\-]{16,}|hf_[A-Za-z0-9]{20,}"
    r"|eyJ[\w\-]{5,}={0,2}(?:\.[\w\-]*={0,2}){1,4}"
    r")"
)
"""Tokens of GitHub, GitLab, Slack, Stripe and others; whole JSON Web Tokens."""
_AWS_ID = re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])")
"""Removed only together with an AWS id, since a digest has the same form."""
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?")
_COMMON_LENGTH = 400
"""Results for texts up to this length are cached: names of endpoints and signatures occur every second."""
_COMMON_MOST = 1_024
"""Texts whose results are cached: 500 names of endpoints, and those of the requests of a second. The ids of kept requests fill
the cache for good, so that a larger one would grow for hours."""

_FOLDED = tuple(
    re.compile(rf"{ids}\d+(?:\.\d+)?")
    for ids in (
        "",
        r"(?i:0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{8,}\b)|",
        r"[\w+/=.~-]{24,}|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{12,}|",
    )
)
"""What signatures of failures have `#` in place of, so that they are few: numbers, ids, and in replies' texts long words."""

_KNOWN_LEAST = 6
"""Characters: a shorter value is also a part of harmless words."""


class _Known:
    """Values of variables that are secret, as they may be spelled."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """A value of fewer than _KNOWN_LEAST characters counts only under the name of a secret, and as a whole word."""
        values = {value for value in secrets.values() if len(value) >= _KNOWN_LEAST}
        self._values = sorted({each for value in values for each in _spellings(value)})
        words = {value for name, value in secrets.items() if 0 < len(value) < _KNOWN_LEAST and is_secret_name(name)}
        parts = [_in_any_spelling(value) for value in sorted(values, key=len, reverse=True)]
        parts += [re.escape(each) for value in sorted(values) for each in sorted(_folded(value), key=len, reverse=True)]
        parts += [rf"(?<!\w){re.escape(each)}(?!\w)" for each in sorted(words)]
        self._pattern = re.compile("|".join(parts), re.IGNORECASE) if parts else None

    def removed_from(self, text: str) -> str:
        """The text without them."""
        return text if self._pattern is None else self._without_a_cut_one(self._pattern.sub(HIDDEN, text))

    def _without_a_cut_one(self, text: str) -> str:
        """The text without the beginning of a value at its end, where it was cut."""
        whole = text.rstrip("….")
        for value in self._values:
            for length in range(min(len(value) - 1, len(whole)), _KNOWN_LEAST - 1, -1):
                if whole.endswith(value[:length]):
                    return whole[:-length] + HIDDEN + text[len(whole) :]
        return text


def remember(secrets: Mapping[str, str]) -> None:
    """Let the values of these variables, and no others, be secret in all that this process writes from now on: as they are, and
    as JSON, URLs, HTML and signatures of failures spell them, in upper or lower case.
    """
    global _known
    _known = _Known(secrets)
    _cached_text.cache_clear()


def without_known(text: str) -> str:
    """The text without the values that `remember` got."""
    return _known.removed_from(text)


def _in_any_spelling(value: str) -> str:
    """A pattern of the value, each of whose characters may be escaped, as clients and services do with some of them."""
    return "".join(
        each
        if each.isascii() and each.isalnum()
        else f"(?:{'|'.join(map(re.escape, sorted(_spellings(each))))}|\\\\?{re.escape(each)})"
        for each in value
    )


def _folded(value: str) -> set[str]:
    """The value as signatures of failures have it."""
    folded = {pattern.sub("#", value) for pattern in _FOLDED}
    return {each for each in folded if len(each) >= _KNOWN_LEAST and re.search(r"[^\W\d_]", each)}


def _spellings(value: str) -> set[str]:
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        html.escape(value),
        html.escape(value).replace("&#x27;", "&#39;"),
    }


@lru_cache(maxsize=_COMMON_MOST)
def is_secret_name(name: str) -> bool:
    """Whether this is the name of a secret, for headers, keys, parameters and options: `X-Api-Key`, `accessToken`,
    `--password`.
    """
    spelled = name.translate(_LETTERS_OF_DIGITS)
    words = {word.lower() for word in (*_WORD.findall(name), *_WORD.findall(spelled.upper() if name.isupper() else spelled))}
    is_code = "code" in words and not words.isdisjoint(_OF_CODES)
    return is_code or not words.isdisjoint(_SECRET_WORDS) or any(part in spelled.lower() for part in _SECRET_PARTS)


def text(value: str) -> str:
    """The text with its secrets replaced by HIDDEN."""
    return _cached_text(value) if len(value) <= _COMMON_LENGTH else _text(value)


def nested(value: Any, name: str = "") -> Any:
    """Nested plain values (dict, list, str, ...) without secrets, recognised by key and by form."""
    if isinstance(value, dict):
        return {key: nested(each, str(key) if not is_secret_name(name) else name) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(nested(each, name) for each in value)
    if value is None or isinstance(value, bool):
        return value
    if name and is_secret_name(name):
        return HIDDEN
    return text(value) if isinstance(value, str) else value


def command(arguments: Sequence[str]) -> tuple[str, ...]:
    """A command line without its secrets, such as in `--token=abc`, `--token abc` or `-H "Authorization: abc"`."""
    with_aws_id = any(map(_AWS_ID.search, arguments))
    cleaned, before, password_option = [], "", ""
    for argument in arguments:
        if _is_secret_argument(before, argument, with_aws_id) or (password_option and before == password_option):
            cleaned.append(HIDDEN)
        elif password_option and argument.startswith(password_option) and argument != password_option:
            cleaned.append(f"{password_option}{HIDDEN}")
        else:
            cleaned.append(text(argument))
        name = argument.rpartition("/")[2]
        password_option = next(
            (option for program, option in _PASSWORD_OPTIONS.items() if program.fullmatch(name)), password_option
        )
        before = argument
    return tuple(cleaned)


def _is_secret_argument(before: str, argument: str, with_aws_id: bool) -> bool:
    """Whether an argument is a secret because of the argument before it, or of an AWS id in the command."""
    option = before if before.startswith("-") and "=" not in before else ""
    return (
        (bool(option) and is_secret_name(option))
        or (option in ("-u", "--user", "--proxy-user") and ":" in argument)
        or (with_aws_id and _AWS_SECRET.fullmatch(argument) is not None)
    )


_known = _Known({})


@lru_cache(maxsize=_COMMON_MOST)
def _cached_text(value: str) -> str:
    return _text(value)


def _text(value: str) -> str:
    value = _known.removed_from(value)
    value = _USERINFO.sub(f"://{HIDDEN}@", value)
    value = _USER_PASSWORD.sub(f"{HIDDEN}@", value)
    if _AWS_ID.search(value):
        value = _AWS_SECRET.sub(HIDDEN, _AWS_ID.sub(HIDDEN, value))
    value = _PRIVATE_KEY.sub(HIDDEN, value)
    value = _COOKIES.sub(_hide, value)
    for name, secret in _SECRETS:
        value = _without_named(value, name, secret)
    for pattern in (_HEADER, _COOKIE, _SCHEME, _LOGIN, _LABELLED, *_PASSWORD_OPTION, _CODE, _DIGEST, _WEBHOOK):
        value = pattern.sub(_hide, value)
    if "<" in value:
        value = _XML.sub(hide_of_field, value)
    return _TOKEN.sub(HIDDEN, value)


def _without_named(text: str, name: re.Pattern[str], secret: re.Pattern[str]) -> str:
    """The text without values that match `secret` after a match of `name` that is the name of a secret."""
    pieces, end = [], 0
    for found in name.finditer(text):
        if found.start() >= end and is_secret_name(found["name"]) and (value := secret.match(text, found.end())):
            pieces += [text[end : found.end()], _hidden(value[0])]
            end = value.end()
    return "".join(pieces) + text[end:]


def _hide(found: re.Match[str]) -> str:
    return found[0][: found.start("value") - found.start()] + _hidden(found["value"])


def hide_of_field(found: re.Match[str]) -> str:
    """The match of an element or a field without its `value`, if its `name` is that of a secret."""
    if not found["value"].strip() or not is_secret_name(found["name"]):
        return found[0]
    return found[0][: found.start("value") - found.start()] + HIDDEN


def _hidden(value: str) -> str:
    """HIDDEN, in the quotes of the value if it has some."""
    sign = value[: value.find('"') + 1] if value.startswith(("\\", '"')) else value[0] if value[0] == "'" else ""
    return f"{sign}{HIDDEN}{sign}"

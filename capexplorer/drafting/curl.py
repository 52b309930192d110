"""curl commands as requests: what a shell, a browser's "Copy as cURL" or an API's manual gives. Reads no file, sends nothing."""

from __future__ import annotations

import argparse
import base64
import re
import shlex
from functools import cache
from typing import NoReturn
from urllib.parse import quote_plus

from ..errors import InputError
from ..toml import shown
from .request_tasks import Request, request

FORM = "application/x-www-form-urlencoded"
_CONTINUED = re.compile(r"[\\^]\r?\n")
_ANSI_C = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
"""`$'it\\'s'` of bash, which browsers write and shlex does not know."""
_FLAGS = (
    "-s -S -L -k -v -i -f -g -N -# --silent --show-error --location --insecure --verbose --include --fail --globoff --compressed"
    " --http1.1 --http2 --no-buffer --progress-bar"
).split()
_IGNORED_WITH_VALUE = (
    "-o",
    "--output",
    "-m",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "-w",
    "--write-out",
    "-e",
    "--referer",
)
"""They change how curl reports or waits, not the request."""


def is_curl(text: str) -> bool:
    """Whether it begins as a curl command does."""
    return re.match(r"\s*(?:\$\s+)?curl(?:\.exe)?\s", text) is not None


def parse(text: str, where: str) -> Request:
    """One curl command. Raises InputError: not a command, an option whose request a profile cannot make."""
    text = _ANSI_C.sub(lambda found: shlex.quote(_unescaped(found[1])), _CONTINUED.sub(" ", text.strip().removeprefix("$")))
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{where}: curl: {str(error).lower()}") from None
    found = _parser().parse(words[1:], where)
    urls = [*found.url, *found.urls]
    if len(urls) != 1:
        raise InputError(f"{where}: curl: expected one URL, got {len(urls)}")
    headers, body = _headers(found, where), _body(found, where)
    if body is not None and found.get:
        return request(found.request or "GET", f"{urls[0]}{'&' if '?' in urls[0] else '?'}{body}", headers, None, where)
    if body is not None and "content-type" not in {name.lower() for name in headers}:
        headers["Content-Type"] = "application/json" if found.json else FORM
    method = found.request or ("HEAD" if found.head else "GET" if body is None else "POST")
    url = urls[0] if "://" in urls[0] or urls[0].startswith("/") else f"http://{urls[0]}"
    return request(method, url, headers, body, where)


class _Parser(argparse.ArgumentParser):
    where = ""

    def parse(self, words: list[str], where: str) -> argparse.Namespace:
        self.where = where
        return self.parse_args(words)

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.where}: curl: {message.replace('unrecognized arguments', 'cannot be used for a profile')}")


@cache
def _parser() -> _Parser:
    parser = _Parser(prog="curl", add_help=False, allow_abbrev=False)
    parser.add_argument("urls", nargs="*")
    parser.add_argument("--url", action="append", default=[])
    parser.add_argument("-X", "--request")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-d", "--data", "--data-raw", "--data-ascii", "--data-binary", dest="data", action="append", default=[])
    parser.add_argument("--data-urlencode", action="append", default=[])
    parser.add_argument("--json", action="append", default=[])
    for short, long in (("-u", "--user"), ("-b", "--cookie"), ("-A", "--user-agent")):
        parser.add_argument(short, long)
    for short, long in (("-G", "--get"), ("-I", "--head")):
        parser.add_argument(short, long, action="store_true")
    for flag in _FLAGS:
        parser.add_argument(flag, action="store_true", dest="ignored")
    for option in _IGNORED_WITH_VALUE:
        parser.add_argument(option, dest="ignored")
    return parser


def _headers(found: argparse.Namespace, where: str) -> dict[str, str]:
    headers = {}
    for text in found.header:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise InputError(f"{where}: curl: -H: expected NAME: VALUE, got {shown(name)}")
        if value.strip():  # `-H 'Accept:'` takes a header of curl's own away
            headers[name.strip()] = value.strip()
    if found.user is not None:
        headers["Authorization"] = "Basic " + base64.b64encode(found.user.encode()).decode()
    if found.cookie is not None:
        if "=" not in found.cookie:
            raise InputError(f"{where}: curl: -b: expected NAME=VALUE; cookies of a file are not read")
        headers["Cookie"] = found.cookie
    if found.user_agent is not None:
        headers["User-Agent"] = found.user_agent
    return headers


def _body(found: argparse.Namespace, where: str) -> str | None:
    for text in (*found.data, *found.json, *found.data_urlencode):
        if text.startswith("@"):
            raise InputError(f"{where}: curl: expected the data itself, got the name of a file: {shown(text)}")
    parts = [*found.data, *map(_encoded, found.data_urlencode)]
    return "".join(found.json) if found.json else "&".join(parts) if parts else None


def _encoded(text: str) -> str:
    name, equals, value = text.partition("=")
    return f"{name}={quote_plus(value)}" if equals and name else quote_plus(value or name)


def _unescaped(text: str) -> str:
    return text.encode("latin-1", "backslashreplace").decode("unicode_escape")

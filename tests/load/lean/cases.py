"""Replies as bytes, and the result that a client must report. Data of the tests and of the process that runs the scenes."""

from __future__ import annotations

import gzip
import sys
import zlib
from typing import NamedTuple

import brotli


class Case(NamedTuple):
    """One request, and what a service sends back for it."""

    sent: bytes
    expected: tuple[int, str] | str
    """(status, text), or the cause that the failure points at (`analysis.causes.classify`)."""
    method: str = "GET"
    closes: bool = False
    """The service closes the connection behind it."""
    kept: bool = True
    """The lean client uses the connection again."""
    follows: bool = False
    """Redirects are followed."""
    others: dict[str, tuple[int, str] | str] = {}
    """Results of other clients, where they differ."""


def ok(headers: str, body: bytes = b"", status: str = "200 OK", version: str = "1.1") -> bytes:
    """A reply; `headers` separated by semicolons."""
    lines = [f"HTTP/{version} {status}", *filter(None, headers.split("; "))]
    return "\r\n".join((*lines, "", "")).encode() + body


def chunked(*parts: bytes, trailer: bytes = b"") -> bytes:
    """A body in chunks."""
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailer + b"\r\n"


PLAIN = ok("Content-Length: 2", b"ok")
CHUNKED = "Transfer-Encoding: chunked"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
INCOMPLETE, MALFORMED = "incomplete_response", "malformed_response"

ZIPPED = gzip.compress(b"ok")
BR: bytes = brotli.compress(b"ok")


def packed(encoding: str, body: bytes) -> bytes:
    """A reply with a compressed body."""
    return ok(f"Content-Encoding: {encoding}; Content-Length: {len(body)}", body)


def moved(location: str, status: str = "302 Found") -> bytes:
    """A redirect."""
    return ok("Content-Length: 0", status=status).replace(b"\r\n", f"\r\nLocation: {location}\r\n".encode(), 1)


CASES: dict[str, Case] = {
    # bodies by length
    "length": Case(PLAIN, (200, "ok")),
    "no body": Case(ok("Content-Length: 0"), (200, "")),
    "equal lengths twice": Case(ok("Content-Length: 2; Content-Length: 2", b"ok"), MALFORMED, kept=False, closes=True,
                                others={"http_user": (200, "ok")}),
    "unequal lengths": Case(ok("Content-Length: 2; Content-Length: 3", b"ok"), MALFORMED, kept=False, closes=True,
                            ),
    "no length that is a number": Case(ok("Content-Length: two", b"ok"), MALFORMED, kept=False, closes=True,
                                       others={"http_user": (200, "ok")}),
    "negative length": Case(ok("Content-Length: -2", b"ok"), MALFORMED, kept=False, closes=True,
                            others={"http_user": (200, "ok")}),
    "until the end": Case(ok("Content-Type: text/plain", b"ok"), (200, "ok"), closes=True, kept=False),
    "1.0 until the end": Case(ok("Server: old", b"ok", version="1.0"), (200, "ok"), closes=True, kept=False),
    "1.0 with a length": Case(ok("Content-Length: 2", b"ok", version="1.0"), (200, "ok"), closes=True, kept=False),
    "1.0 kept open": Case(ok("Content-Length: 2; Connection: keep-alive", b"ok", version="1.0"), (200, "ok")),
    "announced to close": Case(ok("Content-Length: 2; Connection: close", b"ok"), (200, "ok"), closes=True, kept=False),
    "announced to close, and left open": Case(ok("Content-Length: 2; Connection: close", b"ok"), (200, "ok"), kept=False),
    # chunks
    "chunks": Case(ok(CHUNKED, chunked(b"o", b"k")), (200, "ok")),
    "one chunk": Case(ok(CHUNKED, chunked(b"ok")), (200, "ok")),
    "no chunk": Case(ok(CHUNKED, chunked()), (200, "")),
    "chunk extensions": Case(ok(CHUNKED, b"2;name=value\r\nok\r\n0;last\r\n\r\n"), (200, "ok")),
    "capitals and zeros": Case(ok(CHUNKED, b"000A\r\n0123456789\r\n0\r\n\r\n"), (200, "0123456789")),
    "trailers": Case(ok(CHUNKED, chunked(b"ok", trailer=b"X-Checksum: 1\r\n")), (200, "ok")),
    "chunk of no length": Case(ok(CHUNKED, b"no length\r\nok\r\n0\r\n\r\n"), MALFORMED, closes=True, kept=False),
    "chunk longer than its length": Case(ok(CHUNKED, b"1\r\nok\r\n0\r\n\r\n"), MALFORMED, closes=True, kept=False),
    # without a body, whatever their headers announce
    "head": Case(ok("Content-Length: 1000"), (200, ""), method="HEAD"),
    "head in chunks": Case(ok(CHUNKED), (200, ""), method="HEAD"),
    "head of gzip": Case(ok("Content-Length: 30; Content-Encoding: gzip"), (200, ""), method="HEAD",
                         ),
    "204": Case(ok("Server: s", status="204 No Content"), (204, "")),
    "304": Case(ok("Content-Length: 1000", status="304 Not Modified"), (304, "")),
    # interim replies
    "100 first": Case(INTERIM + PLAIN, (200, "ok")),
    "103 first": Case(HINTS + PLAIN, (200, "ok"), others={"http_user": (103, "")}),
    "many interim": Case(INTERIM * 3 + HINTS * 2 + PLAIN, (200, "ok"), others={"http_user": (103, "")}),
    "interim before chunks": Case(INTERIM + ok(CHUNKED, chunked(b"o", b"k")), (200, "ok")),
    "interim, and no more": Case(INTERIM, INCOMPLETE, closes=True, kept=False, others={"http_user": "keepalive_race"}),
    # heads
    "no reason": Case(b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", (200, "ok")),
    "any case": Case(b"HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh: 2\r\nCONTENT-TYPE: text/plain\r\n\r\nok", (200, "ok")),
    "spaces around a value": Case(b"HTTP/1.1 200 OK\r\nContent-Length:  2  \r\n\r\nok", (200, "ok")),
    "bytes that are no ASCII": Case(ok("X-Name: caf\xe9; Content-Length: 2", b"ok"), (200, "ok")),
    "charset of its own": Case(ok("Content-Type: text/plain; charset=latin-1", b"", "200 OK").replace(b"\r\n\r\n", b"\r\n")
                               .replace(b"\r\ncharset", b"; charset") + b"Content-Length: 4\r\n\r\ncaf\xe9", (200, "caf\xe9")),
    "a head of 40 KB": Case(ok("X-Long: " + "a" * 40_000 + "; Content-Length: 2", b"ok"), (200, "ok")),
    "a head without an end": Case(b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 200_000, MALFORMED, closes=True, kept=False),
    "no name before the colon": Case(b"HTTP/1.1 200 OK\r\n: 2\r\nContent-Length: 2\r\n\r\nok", MALFORMED, closes=True,
                                     kept=False, others={"http_user": (200, "ok")}),
    "another protocol": Case(b"SSH-2.0-OpenSSH_9.2\r\n", MALFORMED, closes=True, kept=False),
    "another version": Case(b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nok", MALFORMED, closes=True, kept=False),
    "a status of two digits": Case(b"HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok", MALFORMED, closes=True, kept=False),
    # statuses
    "302 is a reply": Case(ok("Location: /elsewhere; Content-Length: 0", status="302 Found"), (302, "")),
    "404": Case(ok("Content-Length: 2", b"no", status="404 Not Found"), "client_error"),
    "503": Case(ok("Content-Length: 2", b"no", status="503 Busy"), "load_shedding"),
    # content encodings
    "gzip": Case(ok(f"Content-Encoding: gzip; Content-Length: {len(ZIPPED)}", ZIPPED), (200, "ok")),
    "gzip in chunks": Case(ok(f"{CHUNKED}; Content-Encoding: gzip", chunked(ZIPPED)), (200, "ok")),
    "gzip behind an interim": Case(INTERIM + ok(f"{CHUNKED}; CONTENT-ENCODING: GZIP", chunked(ZIPPED)), (200, "ok")),
    "deflate": Case(packed("deflate", zlib.compress(b"ok")), (200, "ok")),
    "deflate without a header": Case(packed("deflate", zlib.compress(b"ok")[2:-4]), (200, "ok")),
    "br": Case(packed("br", BR), (200, "ok")),
    "two encodings": Case(packed("br, gzip", gzip.compress(BR)), (200, "ok")),
    "two headers of encodings": Case(ok("Content-Encoding: br; Content-Encoding: gzip; "
                                        f"Content-Length: {len(gzip.compress(BR))}", gzip.compress(BR)), (200, "ok")),
    "utf-8 is no encoding": Case(packed("utf-8", b"ok"), (200, "ok")),
    "an encoding without a name": Case(packed("", b"ok"), (200, "ok")),
    "an encoding that nobody asked for": Case(
        packed("zstd", b"ok"), (200, "ok"), others={"http_user": "malformed_response"} if sys.version_info >= (3, 14) else {}
    ),  # from 3.14 on Python has zstd, which requests then unpacks
    "the encoding of old browsers": Case(packed("compress", b"ok"), (200, "ok")),
    "a damaged br": Case(packed("br", b"\xff" + BR), MALFORMED),
    "half a br": Case(packed("br", BR[:-2]), MALFORMED, others={"http_user": (200, "o")}),
    "half a gzip": Case(packed("gzip", ZIPPED[:-4]), MALFORMED, others={"http_user": (200, "ok")}),
    "a damaged deflate": Case(packed("deflate", b"no deflate"), MALFORMED),
    "an error that is damaged": Case(packed("gzip", b"no gzip!").replace(b"200 OK", b"500 Bad"), MALFORMED),
    "an error that is no UTF-8": Case(ok("Content-Length: 4", b"caf\xe9", status="500 Bad"), "server_error"),
    "an error in bytes": Case(ok("Content-Length: 3", b"\xff\xfe\x00", status="503 Busy"), "load_shedding"),
    "an error in another alphabet": Case(ok("Content-Length: 2", b"\xcf\xcb", status="502 Bad"), "bad_gateway"),
    # redirects that are followed
    "to another page": Case(moved("/landed"), (200, "here"), follows=True),
    "to another page by 307": Case(moved("/landed", "307 Temporary Redirect"), (200, "here"), follows=True),
    "to no page": Case(moved(""), (302, ""), follows=True),
    "redirect without a place": Case(ok("Content-Length: 0", status="302 Found"), (302, ""), follows=True),
    "to itself": Case(moved("/to%20itself/whole"), "unexpected_status", follows=True),
    "to half an address": Case(moved("http://["), MALFORMED, follows=True),
    "to no host": Case(moved("http://"), "unexpected_status", follows=True, others={"fast_http_user": "dns_failure"}),
    "to no port": Case(moved("http://127.0.0.1:port/"), MALFORMED, follows=True),
    "to a port that does not exist": Case(moved("http://127.0.0.1:99999/"), MALFORMED, follows=True),
    "to a file": Case(moved("file:///etc/passwd"), MALFORMED, follows=True),
    "to ftp": Case(moved("ftp://127.0.0.1/"), MALFORMED, follows=True),
    "to a script": Case(moved("javascript:alert(1)"), MALFORMED, follows=True),
    "to a host of one long name": Case(moved(f"http://{'a' * 70}/"), MALFORMED, follows=True),
    "to a host of two dots": Case(moved("http://a..b/"), MALFORMED, follows=True),
    "to a port where nobody listens": Case(moved("http://127.0.0.1:9/"), "connection_refused", follows=True),
    "to a place with spaces": Case(moved("/landed?a b"), (200, "here"), follows=True),
    "to a place of bytes": Case(moved("/landed?\xff\xfe"), (200, "here"), follows=True),
    # cookies
    "a cookie": Case(ok("Set-Cookie: a=b; Content-Length: 2", b"ok"), (200, "ok")),
    "cookies of no form": Case(
        ok("Set-Cookie: =; Set-Cookie: ,,,; Set-Cookie: a=b,expires=never,domain=,path=; Content-Length: 2", b"ok"), (200, "ok")),
    "a cookie of the year 99999": Case(
        ok("Set-Cookie: a=b,expires=Thu 01-Jan-99999 00:00:00 GMT; Content-Length: 2", b"ok"), (200, "ok")),
    "no gzip": Case(ok("Content-Encoding: gzip; Content-Length: 8", b"no gzip!"), MALFORMED),
    "identity": Case(ok("Content-Encoding: identity; Content-Length: 2", b"ok"), (200, "ok")),
    # ends too early
    "nothing": Case(b"", "keepalive_race", closes=True, kept=False, others={"fast_http_user": "connection_reset"}),
    "half a status line": Case(b"HTTP/1.1 20", INCOMPLETE, closes=True, kept=False, others={"http_user": MALFORMED}),
    "half a head": Case(b"HTTP/1.1 200 OK\r\nContent-Le", INCOMPLETE, closes=True, kept=False),
    "half a body": Case(ok("Content-Length: 100", b"ok"), INCOMPLETE, closes=True, kept=False),
    "half a chunk": Case(ok(CHUNKED, b"64\r\nok"), INCOMPLETE, closes=True, kept=False),
    "no last chunk": Case(ok(CHUNKED, b"2\r\nok\r\n"), INCOMPLETE, closes=True, kept=False),
    # more than was asked for
    "two replies": Case(PLAIN + ok("Content-Length: 5", b"stray", status="500 Not Yours"), (200, "ok"), kept=False,
                        others={"fast_http_user": "server_error"}),
    "a reply and half of another": Case(PLAIN + b"HTTP/1.1 500 No", (200, "ok"), kept=False,
                                        others={"fast_http_user": "read_timeout"}),
    "a reply and other bytes": Case(PLAIN + b"\x00\x01\x02", (200, "ok"), kept=False, others={"fast_http_user": MALFORMED}),
    "a body behind 204": Case(ok("Content-Length: 2", b"ok", status="204 No Content"), (204, ""), kept=False,
                              others={"fast_http_user": MALFORMED}),
    "a body behind HEAD": Case(PLAIN, (200, ""), method="HEAD", kept=False),
    "more than its length": Case(ok("Content-Length: 2", b"okay"), (200, "ok"), kept=False, others={"fast_http_user": MALFORMED}),
}  # fmt: skip

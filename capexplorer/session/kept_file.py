"""The file with the requests that a run keeps whole (`ID.requests`, in the folder of the log): a header, then a line per request.

It exists only with `--keep-bodies`, and is written once at the end of the run, readable only by the user and without secrets. The
log contains its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ..errors import SessionError
from ..model.kept_request import EVEN_MOST, FAILURES_MOST, SLOWEST_MOST, KeptRequest, RequestBrief
from .files import Lines, open_regular, write_whole
from .names import SUFFIX

KEPT_SUFFIX = ".requests"
SCHEMA = 1
_REQUESTS_MOST = 2 * FAILURES_MOST + SLOWEST_MOST + EVEN_MOST
_PART_BYTES = 1024 * 1024


class _Head(msgspec.Struct, frozen=True, kw_only=True, tag="requests"):
    """The first line."""

    schema: int
    session: str


_encode = msgspec.json.Encoder().encode


def path_of(log: Path) -> Path:
    """Path of the kept requests of a log: `ID.requests` in the folder of `ID.jsonl`."""
    return log.with_name(log.name.removesuffix(SUFFIX) + KEPT_SUFFIX)


def write(log: Path, requests: Iterable[KeptRequest]) -> Path:
    """Write the file, with mode 0600. Returns its path. Raises OSError."""
    path = path_of(log)
    head = _Head(schema=SCHEMA, session=log.name.removesuffix(SUFFIX))
    write_whole(path, b"".join(_encode(each) + b"\n" for each in (head, *requests)))
    return path


class RequestsFile:
    """The `KeptRequests` of a saved session. Raises SessionError for a file that is none."""

    why_none = ""

    def __init__(self, path: Path) -> None:
        try:
            with open_regular(path) as file:
                lines = [line for _, line in _all(Lines(file)) if line is not None]
            head = msgspec.json.decode(lines[0] if lines else b"", type=_Head)
            if head.schema > SCHEMA:
                raise SessionError(f"{path}: kept requests of schema {head.schema}; this version reads up to {SCHEMA}")
            found = [msgspec.json.decode(line, type=KeptRequest) for line in lines[1 : 1 + _REQUESTS_MOST]]
        except OSError as error:
            raise SessionError(f"{path}: cannot be read: {error.strerror or error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SessionError(f"{path}: not a file of kept requests: {error}") from None
        self._requests = {request.brief.number: request for request in found}

    def briefs(self) -> Sequence[RequestBrief]:
        """Summaries of all requests, in the order in which they began."""
        return sorted((request.brief for request in self._requests.values()), key=lambda brief: brief.t_s)

    def request(self, number: int) -> KeptRequest | None:
        """The request with this number; None: there is none."""
        return self._requests.get(number)


def _all(lines: Lines) -> Iterable[tuple[int, bytes | None]]:
    while part := lines.next_part(_PART_BYTES):
        yield from part

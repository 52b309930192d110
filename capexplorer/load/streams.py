"""Replies that are streams: read as they arrive, divided into events, timed by when the bytes of each arrived.

For `stream` of a profile's task the user's own greenlet reads. In a locustfile (`stream` here) another greenlet does, so that
times are those of arrival whatever user code does meanwhile. A request is reported when its stream has ended: its time is that
until the end, and its stages are in the keyword `stages` of Locust's request event.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import gevent
import msgspec
import requests
from gevent.queue import SimpleQueue

from ..model.kept_request import BODY_MOST_BYTES
from ..model.stages import RequestStages, StreamKind
from .bodies import BodyTooLarge, Unpacking, body_limit
from .lean.connection import Stream
from .user_activity import reads

PIECE_BYTES = 65_536

# -- events: what the bytes of a stream are divided into


class StreamEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of a stream."""

    data: str
    """Its data: of a server-sent event all of its lines, of lines the line, of a language model's chunk the JSON."""
    at_ms: float
    """When its last byte arrived, in ms since the request's start."""
    name: str = ""
    """The name of a server-sent event; empty: it has none."""
    text: str = ""
    """The text in a language model's chunk."""
    is_empty: bool = False
    """Whether it brings nothing, such as a chunk with a role alone: it counts neither as the first event nor as a token."""

    def json(self) -> Any:
        """The data, parsed. Raises msgspec.DecodeError."""
        return msgspec.json.decode(self.data)


class StreamError(Exception):
    """The stream says that the service has failed, or it is none of the expected kind."""


class Lines:
    """Each line that is not empty is an event."""

    tokens = 0
    """As many as the reply says; 0: it does not say."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, data: bytes, at_ms: float) -> Iterator[StreamEvent]:
        """The events that these bytes complete. Raises BodyTooLarge for a line beyond the limit of a body, StreamError."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > body_limit.most_bytes:
            raise BodyTooLarge(body_limit.most_bytes)
        for line in lines:
            event = self._event(line.removesuffix(b"\r"), at_ms)
            if event is not None:
                yield event

    def end(self, at_ms: float) -> Iterator[StreamEvent]:
        """The event that the end of the stream completes. Raises StreamError if the stream is not whole."""
        return self.take(b"\n\n", at_ms)

    def _event(self, line: bytes, at_ms: float) -> StreamEvent | None:
        return StreamEvent(line.decode(errors="replace"), at_ms) if line else None


class ServerSentEvents(Lines):
    """The events of the HTML standard's event streams. Comments, which keep a connection alive, are none."""

    def __init__(self) -> None:
        super().__init__()
        self._data: list[bytes] = []
        self._name = b""

    def _event(self, line: bytes, at_ms: float) -> StreamEvent | None:
        if line:
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            elif field == b"event":
                self._name = value.removeprefix(b" ")
            return None
        data, name = self._data, self._name.decode(errors="replace")
        self._data, self._name = [], b""
        if not data:
            return None
        text = b"\n".join(data).decode(errors="replace")
        if name == "error":
            raise StreamError(f"error event: {text:.200}")
        return self._made(text, name, at_ms)

    def _made(self, data: str, name: str, at_ms: float) -> StreamEvent | None:
        return StreamEvent(data, at_ms, name, is_empty=not data)


class _Delta(msgspec.Struct, gc=False):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Any = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    text: Any = None


class _Usage(msgspec.Struct, gc=False):
    completion_tokens: int | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: tuple[_Choice, ...] | None = None
    usage: _Usage | None = None
    error: Any = None


_chunk = msgspec.json.Decoder(_Chunk).decode


class CompletionChunks(ServerSentEvents):
    """The chunks of a chat or text completion by OpenAI's API, which end with `[DONE]`. A chunk counts as one token, unless the
    reply says how many there were (`stream_options.include_usage`)."""

    def __init__(self) -> None:
        super().__init__()
        self._is_done = False

    def end(self, at_ms: float) -> Iterator[StreamEvent]:
        """As of Lines."""
        yield from super().end(at_ms)
        if not self._is_done:
            raise StreamError("the stream ended without [DONE]")

    def _made(self, data: str, name: str, at_ms: float) -> StreamEvent | None:
        if self._is_done or data == "[DONE]":
            self._is_done = True
            return None
        try:
            chunk = _chunk(data)
        except msgspec.MsgspecError as error:
            raise StreamError(f"no chunk of a completion: {error}") from None
        if chunk.error is not None:
            raise StreamError(f"error event: {data:.200}")
        if chunk.usage is not None and chunk.usage.completion_tokens:
            self.tokens = chunk.usage.completion_tokens
        text, brings = "", False
        for choice in chunk.choices or ():
            delta = choice.delta
            content = choice.text if delta is None else delta.content
            if isinstance(content, str):
                text += content
            brings = brings or bool(
                content or (delta is not None and (delta.reasoning_content or delta.reasoning or delta.tool_calls))
            )
        return StreamEvent(data, at_ms, name, text, is_empty=not brings)


_KINDS: dict[StreamKind, type[Lines]] = {"sse": ServerSentEvents, "lines": Lines, "openai": CompletionChunks}

# -- one stream


class EventStream:
    """The events of one reply, as they arrive. An iterator; it ends with the stream, also with one that breaks (`error`)."""

    error: Exception | None = None
    """Why the stream broke: the request is a failure then."""

    def __init__(self, response: Any, kind: StreamKind, started_s: float) -> None:
        """`response`: of a request with `stream=True` and `catch_response=True`. `started_s`: `perf_counter` at its start."""
        self.response = response
        """The client's response: its status, headers, `success()` and `failure()`."""
        self._is_stream = 0 < response.status_code < 400
        self._events, self._started_s = _KINDS[kind](), started_s
        self._head_ms = float(response.request_meta["response_time"])
        self._arrived_s: list[float] = []
        self._ended_s: float | None = None
        self._length = 0
        self._beginning = b""
        self._waiting: SimpleQueue[StreamEvent | None] = SimpleQueue()
        self._reader: gevent.Greenlet | None = None

    def arriving(self) -> Iterator[StreamEvent]:
        """Read the stream in this greenlet."""
        if not self._is_stream:
            with contextlib.suppress(Exception):  # whatever it is, the status or the error before is why the request failed
                self.response._cached_content = self.response.content  # the failure's message may be in it
            return
        events, started_s = self._events, self._started_s
        try:
            encodings = _encodings(self.response.headers)
            unpacking, read = Unpacking(encodings) if encodings else None, _reading(self.response)
            while piece := read():
                now_s = time.perf_counter()
                data = piece if unpacking is None else unpacking.take(piece)
                yield from self._counted(events.take(data, (now_s - started_s) * 1000), now_s)
                self._length += len(data)
                if len(self._beginning) <= BODY_MOST_BYTES:
                    self._beginning += data[: BODY_MOST_BYTES + 1]
            self._ended_s = now_s = time.perf_counter()
            if unpacking is not None:
                unpacking.end()
            yield from self._counted(events.end((now_s - started_s) * 1000), now_s)
        except Exception as error:  # whatever a reply leads to is a failure of its request
            self.error, self._ended_s = error, time.perf_counter()

    def _counted(self, events: Iterator[StreamEvent], now_s: float) -> Iterator[StreamEvent]:
        for event in events:
            if not event.is_empty:
                self._arrived_s.append(now_s)
            yield event

    def read_ahead(self) -> None:
        """Read the stream in another greenlet from now on, also while user code does not ask for events."""
        self._reader = gevent.spawn(self._read)

    def _read(self) -> None:
        try:
            for event in self.arriving():
                self._waiting.put(event)
        finally:
            self._waiting.put(None)

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> StreamEvent:
        event: StreamEvent | None = self._waiting.get()
        reads()
        if event is None:
            self._waiting.put(None)
            raise StopIteration
        return event

    def close(self) -> None:
        """Read no further: of a stream that has not ended the connection is closed. What is reported is known from now on."""
        if self._reader is not None:
            self._reader.kill()  # what it is reading from closes the connection, also when it is killed
        response, ended_s = self.response, self._ended_s or time.perf_counter()
        if not self._is_stream:
            return
        response.request_meta["response_time"] = (ended_s - self._started_s) * 1000
        response.request_meta["response_length"] = self._length
        response.request_meta["stages"] = self._stages()
        reported = response.request_meta.get("response", response)  # of FastHttpUser another object
        reported._content = reported._cached_content = self._beginning  # where kept requests find it
        if self.error is not None:
            response.failure(self.error)

    def _stages(self) -> RequestStages:
        arrived_s, timing = self._arrived_s, getattr(self.response, "timing", None)
        first_byte_ms = self._head_ms if timing is None or timing.first_s is None else timing.first_s * 1000
        tokens = self._events.tokens or len(arrived_s)
        if not arrived_s:
            return RequestStages(ttfb_ms=first_byte_ms, tokens=tokens)
        stream_ms = (arrived_s[-1] - arrived_s[0]) * 1000
        return RequestStages(
            ttfb_ms=first_byte_ms,
            ttft_ms=(arrived_s[0] - self._started_s) * 1000,
            tpot_ms=stream_ms / (tokens - 1) if len(arrived_s) > 1 and tokens > 1 else None,
            gaps_ms=tuple([(later_s - earlier_s) * 1000 for earlier_s, later_s in pairwise(arrived_s)]),
            tokens=tokens,
        )


def _encodings(headers: Any) -> str:
    found = headers.get("content-encoding") or ""
    return (found if isinstance(found, str) else ",".join(found)).lower()


def _reading(response: Any) -> Callable[[], bytes]:
    """What reads the next bytes of the body as they arrive, still compressed; none are its end."""
    if isinstance(response, requests.Response):
        return partial(response.raw.read1, PIECE_BYTES, decode_content=False)
    if isinstance(response.stream, Stream):
        return response.stream.read1
    return partial(_read_of_fast, response.stream)


def _read_of_fast(reply: Any) -> bytes:
    """Of FastHttpUser, whose `read(n)` waits for all of n bytes."""
    body = reply._body_buffer
    while not body and not reply.message_complete:
        try:
            reply.feed(reply._sock.recv(PIECE_BYTES))
        except BaseException:
            reply.release()
            raise
    found = bytes(body)
    body.clear()
    return found


def read_stream(response: Any, kind: StreamKind, started_s: float, within_s: float) -> None:
    """Read a reply within its with-block, until it ends or the request takes longer than this. Arguments as of EventStream."""
    found = EventStream(response, kind, started_s)
    left_s = started_s + within_s - time.perf_counter()
    try:
        with gevent.Timeout(max(left_s, 0.001), TimeoutError("timed out")):
            for _ in found.arriving():
                pass
    finally:
        found.close()


@contextmanager
def stream(client: Any, method: str, url: str, *, events: StreamKind = "sse", **options: Any) -> Iterator[EventStream]:
    """Send a request and read its reply as it arrives, event by event: `with stream(self.client, "GET", "/news") as events:`.

    `client`: of LeanHttpUser, FastHttpUser or HttpUser; `options`: those of its `request`. `events`: `sse`, server-sent events;
    `lines`, each line that is not empty; `openai`, the chunks of a completion by OpenAI's API. The request is reported when its
    stream has ended, or where the block ends before. It fails if the stream breaks off, brings an error event, or, with `openai`,
    ends without `[DONE]`.
    """
    started_s = time.perf_counter()
    with client.request(method, url, stream=True, catch_response=True, **options) as response:
        found = EventStream(response, events, started_s)
        found.read_ahead()
        try:
            yield found
        finally:
            found.close()

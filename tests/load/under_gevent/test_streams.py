"""Replies that are streams, read by each client: their events, when these arrived, and what is reported at the end."""

from __future__ import annotations

import json
import time
from typing import Any

import gevent
import locust
import pytest
from locust.env import Environment

from capexplorer.load.kept_requests import RequestSampling
from capexplorer.load.recorder import Recorder
from capexplorer.load.request_counts import request_counts
from capexplorer.load.streams import StreamEvent, stream
from capexplorer.load.workload import HTTP_USERS, from_profile
from capexplorer.model.stages import RequestStages
from capexplorer.profile import Task, Users
from capexplorer.session.redact_request import without_secrets

from ..playing import NOW
from ..servers import closed_port

DONE = [0, "data: [DONE]\n\n"]


class Reader:
    """A user of one client, and what its requests reported."""

    def __init__(self, kind: type[locust.User], url: str) -> None:
        self.kind, self.url = kind, url
        self.reported: list[dict[str, Any]] = []
        self.environment = Environment(user_classes=[])
        self.recorder = Recorder(sampling=RequestSampling(without_secrets))
        self.environment.events.request.add_listener(self.recorder.on_request)  # type: ignore[no-untyped-call]
        self.environment.events.request.add_listener(lambda **fired: self.reported.append(fired))  # type: ignore[no-untyped-call]
        self.user: Any = type("Reading", (kind,), {"host": url, "abstract": False})(self.environment)

    def open(self, *pieces: Any, events: Any = "sse", **asked: Any) -> Any:
        return stream(self.user.client, "POST", "/stream", data=json.dumps({"pieces": pieces, **asked}), events=events)

    def read(self, *pieces: Any, events: str = "sse", **asked: Any) -> list[StreamEvent]:
        """The events that a locustfile gets."""
        with self.open(*pieces, events=events, **asked) as found:
            return list(found)

    def task(self, *pieces: Any, events: Any = "sse", timeout_s: float = 30.0, **asked: Any) -> dict[str, Any]:
        """What the task of a profile reports."""
        client: Any = {"FastHttpUser": "fast", "HttpUser": "requests", "LeanHttpUser": "lean"}[self.kind.__name__]
        body = json.dumps({"pieces": pieces, **asked})
        task = Task(name="/stream", method="POST", body=body, stream=events)
        made: Any = from_profile(Users(client=client, timeout_s=timeout_s, task=(task,)), self.url).classes[0](self.environment)
        made.tasks[0](made)
        return self.last

    @property
    def last(self) -> dict[str, Any]:
        return self.reported[-1]

    @property
    def stages(self) -> Any:
        assert isinstance(self.last["stages"], RequestStages)
        return self.last["stages"]


@pytest.fixture(params=HTTP_USERS, ids=lambda kind: str(kind.__name__))
def reader(request: pytest.FixtureRequest, played: str) -> Reader:
    return Reader(request.param, played)


def _chunk(**delta: Any) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n"


@pytest.mark.parametrize("frame", ["chunked", "close", "length"])
@pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "raw-deflate", "br"])
def test_events_are_the_same_however_the_reply_is_framed_and_compressed(reader: Reader, frame: str, encoding: str) -> None:
    if frame == "length" and encoding:
        return  # its length would not be known before
    pieces = (
        [0, ": hello\n\n"],
        [0, "event: news\ndata: a\ndata: b\n\nda"],
        [5, "ta:c\r\n\r\n"],
        [0, "id: 4\nretry: 5\n\n"],
        [5, "data: end"],
    )
    events = reader.read(*pieces, frame=frame, encoding=encoding)
    assert [(event.name, event.data) for event in events] == [("news", "a\nb"), ("", "c"), ("", "end")]
    assert reader.last["exception"] is None
    assert reader.last["response_length"] == len("".join(str(text) for _, text in pieces))
    assert (reader.stages.tokens, len(reader.stages.gaps_ms)) == (3, 2)
    reported = reader.task(*pieces, frame=frame, encoding=encoding)
    assert (reported["exception"], reported["stages"].tokens) == (None, 3)


@pytest.mark.parametrize("bytes_a_send", [1, 7])
def test_events_are_the_same_in_packets_of_any_size(reader: Reader, bytes_a_send: int) -> None:
    pieces = [0, "data: one\r\n\r\n: kept alive\r\n\r\ndata: two\r\n"], [0, "\r\ndata: thre\xe9\n\n"]
    assert [event.data for event in reader.read(*pieces, bytes_a_send=bytes_a_send)] == ["one", "two", "thre\xe9"]
    lines = [event.data for event in reader.read([0, "one\n\ntwo\r\n"], [0, "three"], events="lines", bytes_a_send=bytes_a_send)]
    assert lines == ["one", "two", "three"]


def test_times_are_those_of_arrival_whatever_user_code_does_meanwhile(reader: Reader) -> None:
    """It asks for the second event when all have arrived, and stays in the block then. The server says when it sent each."""
    before_s = time.perf_counter()
    with reader.open(*[[20, f"data: {NOW}\n\n"]] * 5) as events:
        after_s = time.perf_counter()
        found = [next(events)]
        assert events._reader is not None
        events._reader.join()
        asked_s = time.perf_counter()
        found += events
        gevent.sleep(0.25)
    arrived_s, sent_s = [event.at_ms / 1000 for event in found], [float(event.data) for event in found]
    assert all(sent < after_s + at for sent, at in zip(sent_s, arrived_s, strict=True))
    assert len(found) == 5 and all(before_s + at < asked_s for at in arrived_s)
    assert reader.last["response_time"] / 1000 < asked_s - before_s  # until the end of the stream, not of the block
    assert reader.stages.ttft_ms == arrived_s[0] * 1000
    assert reader.stages.ttfb_ms < reader.stages.ttft_ms >= 20
    assert sum(reader.stages.gaps_ms) == pytest.approx(reader.stages.tpot_ms * 4)
    assert sum(reader.stages.gaps_ms) == pytest.approx((arrived_s[-1] - arrived_s[0]) * 1000)


def test_a_completion_counts_the_tokens_that_its_reply_names(reader: Reader) -> None:
    """A chunk with a role alone, an empty one and the one with the usage are no tokens."""
    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}}
    texts = (
        _chunk(role="assistant", content=""),
        _chunk(content="Hel"),
        _chunk(content="lo"),
        _chunk(),
        _chunk(reasoning_content="?"),
    )
    pieces = [[0, texts[0]], *([20, text] for text in texts[1:])]
    events = reader.read(*pieces, DONE, events="openai")
    assert [event.text for event in events] == ["", "Hel", "lo", "", ""]
    assert [event.is_empty for event in events] == [True, False, False, True, False]
    assert (reader.stages.tokens, len(reader.stages.gaps_ms)) == (3, 2)
    assert reader.stages.ttft_ms == events[1].at_ms
    reader.read(*pieces, [0, f"data: {json.dumps(usage)}\n\n"], DONE, events="openai")
    assert (reader.stages.tokens, len(reader.stages.gaps_ms)) == (7, 2)
    assert reader.stages.tpot_ms == pytest.approx(sum(reader.stages.gaps_ms) / 6)
    assert reader.task(*pieces, DONE, events="openai")["stages"].tokens == 3
    text = json.dumps({"choices": [{"text": "Hi"}], "usage": None})
    assert [event.text for event in reader.read([0, f"data: {text}\n\n"], DONE, events="openai")] == ["Hi"]


ERROR = 'data: {"error": {"message": "out of memory"}}\n\n'


@pytest.mark.parametrize(
    ("events", "pieces", "says"),
    [
        ("openai", [[0, _chunk(content="a")]], "without [DONE]"),
        ("openai", [[0, _chunk(content="a")], [0, ERROR], DONE], "out of memory"),
        ("openai", [[0, _chunk(content="a")], [0, "data: not json\n\n"], DONE], "no chunk"),
        ("sse", [[0, "data: a\n\n"], [0, "event: error\ndata: overloaded\n\n"]], "overloaded"),
    ],
)
def test_a_stream_that_says_that_it_failed_is_a_failure(reader: Reader, events: str, pieces: Any, says: str) -> None:
    assert len(reader.read(*pieces, events=events)) == 1
    assert says in str(reader.last["exception"])
    assert says in str(reader.task(*pieces, events=events)["exception"])
    assert len(reader.recorder.drain(0.0, 0).failures) == 1


def test_a_stream_that_breaks_off_is_a_failure_and_its_events_end(reader: Reader) -> None:
    pieces = [0, "data: a\n\n"], [10, "data: b\n\n"]
    assert [event.data for event in reader.read(*pieces, ends=False)] == ["a", "b"]
    assert reader.last["exception"] is not None
    assert reader.task(*pieces, ends=False)["exception"] is not None
    (endpoint,) = reader.recorder.drain(0.0, 0).endpoints
    assert (endpoint.requests, endpoint.failures, endpoint.stages, endpoint.tokens) == (2, 2, {}, 0)
    assert reader.read([0, "data: c\n\n"])[0].data == "c"


def test_a_compressed_stream_that_lacks_its_end_is_a_failure(reader: Reader) -> None:
    reader.read([0, "data: a\n\n"], frame="close", encoding="gzip", ends=False)
    assert "truncated" in str(reader.last["exception"])


def test_a_refused_request_is_a_failure_without_events(reader: Reader) -> None:
    assert reader.read([0, '{"error": "no model"}'], status=503) == []
    assert reader.last["exception"] is not None
    assert "stages" not in reader.last
    assert "no model" in (reader.recorder.drain(0.0, 0).failures[0].example or "")


def test_a_refused_connection_is_a_failure_without_events(reader: Reader) -> None:
    closed = Reader(reader.kind, f"http://127.0.0.1:{closed_port()}")
    assert closed.read([0, "data: a\n\n"]) == []
    assert closed.task([0, "data: a\n\n"])["exception"] is not None
    assert len(closed.reported) == 2


def test_a_task_of_a_profile_fails_where_its_stream_takes_too_long(reader: Reader) -> None:
    reported = reader.task(*[[100, "data: a\n\n"]] * 30, timeout_s=0.4)
    assert "timed out" in str(reported["exception"])
    assert 0 < reported["stages"].tokens < 30


def test_the_connection_is_kept_unless_user_code_leaves_the_stream_early(reader: Reader) -> None:
    if isinstance(reader.user, locust.HttpUser):
        return
    before = request_counts.started - request_counts.reported - request_counts.abandoned
    for _ in range(3):
        reader.read([0, "data: a\n\n"])
    with reader.open([0, "data: a\n\n"], [30_000, "data: b\n\n"]) as events:
        assert next(events).data == "a"
    assert (reader.last["exception"], reader.stages.tokens) == (None, 1)
    assert reader.read([0, "data: c\n\n"])[0].data == "c"
    assert request_counts.started - request_counts.reported - request_counts.abandoned == before


def test_a_user_that_is_stopped_in_mid_stream_abandons_its_request(reader: Reader) -> None:
    counted = request_counts.abandoned
    for read in (reader.read, reader.task):
        reading = gevent.spawn(read, [0, "data: a\n\n"], [30_000, "data: b\n\n"])
        gevent.sleep(0.1)
        reading.kill()
    assert (request_counts.abandoned - counted, reader.reported) == (2, [])
    assert reader.recorder.drain(0.0, 0).kept == ()


def test_an_exception_of_user_code_in_the_block_fails_the_request_and_its_task(reader: Reader) -> None:
    with pytest.raises(ValueError, match="wrong"), reader.open([0, "data: a\n\n"], [0, "data: b\n\n"]) as events:
        raise ValueError(f"wrong {next(events).data}")
    assert isinstance(reader.last["exception"], ValueError)
    with reader.open([0, "data: a\n\n"]) as events:
        events.response.failure("too short")
    assert str(reader.last["exception"]) == "too short"


def test_the_seconds_have_the_stages_of_successes(reader: Reader) -> None:
    for _ in range(2):
        reader.read([0, "data: a\n\n"], [5, "data: b\n\n"], [5, "data: c\n\n"])
    (endpoint,) = reader.recorder.drain(0.0, 0).endpoints
    assert (endpoint.requests, endpoint.tokens) == (2, 6)
    assert list(endpoint.stages) == ["ttfb", "ttft", "tpot", "itl"]
    assert endpoint.stages["itl"].sum_ms == pytest.approx(2 * endpoint.stages["tpot"].sum_ms)
    assert endpoint.stages["ttfb"].sum_ms <= endpoint.stages["ttft"].sum_ms < endpoint.latency_sum_ms


def test_a_kept_request_has_the_phases_of_its_stream_and_its_beginning(reader: Reader) -> None:
    event = "data: " + "word " * 600 + "\n\n"
    reader.read([20, event], [20, event], [20, event])
    assert reader.last["exception"] is None
    (kept, *_) = (each.request for each in reader.recorder.drain(0.0, 0).kept)
    phases = kept.phases
    assert (kept.received.size_bytes, kept.received.is_cut) == (3 * len(event), True)
    assert kept.received.text.startswith((event * 2)[:4_000])
    assert (phases.tokens, phases.per_token_ms) == (3, reader.stages.tpot_ms)
    whole_ms = sum(each or 0.0 for each in (phases.connect_ms, phases.first_byte_ms, phases.first_event_ms, phases.body_ms))
    assert whole_ms == pytest.approx(kept.brief.response_ms, rel=0.02)
    assert phases.body_ms == pytest.approx(kept.brief.response_ms - reader.stages.ttft_ms)
    assert phases.first_event_ms is not None and 0 < phases.first_event_ms < reader.stages.ttft_ms

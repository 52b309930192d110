"""An OpenAI-compatible server on 127.0.0.1 whose replies come as fast as the law of `engine.py` says. Standard library only.

One process, one event loop: a timer ends each step of the batch and writes one token to each of its streams. 300 streams of
50 tokens a second use 0.1 of a core.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from engine import Engine, Job, Law

MODEL = "llm"
HEAD_MOST_BYTES, BODY_MOST_BYTES = 65_536, 16 << 20
WORDS = 64
"""Different tokens of output; each is a word of five letters, so a text has as many tokens as words."""
DEFAULT_OUTPUT_TOKENS = 128
"""Mean length of a reply whose request has no max_tokens; lengths are geometric."""
SLIP_S = 0.05
"""A step that ends later than this ends anew at that moment, and counts as late; up to that the next ones make up for it."""

TTFT_BUCKETS_S = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160)
TPOT_BUCKETS_S = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
LATENCY_BUCKETS_S = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960)


def main() -> None:
    options = _options()
    asyncio.run(serve(options))


async def serve(options: argparse.Namespace) -> None:
    """Serve until a signal ends the process."""
    law = Law(
        options.slots, options.kv_tokens, options.prefill_per_s, options.decode_per_s, options.batch_cost, options.chunk_tokens
    )
    log = open(options.log, "a", buffering=1, encoding="utf-8") if options.log else None  # noqa: SIM115 - until the end
    service = Service(law, options.event_tokens, random.Random(options.seed), log)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(service), "127.0.0.1", options.port, backlog=1024)
    await server.serve_forever()


# -- one reply, and the engine in real time ------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False, kw_only=True)
class Generation(Job):
    """A request for text whose reply is under way. Times are those of the event loop's clock."""

    id: str
    connection: Connection
    chat: bool
    streamed: bool
    with_usage: bool
    ends_itself: bool
    first_word: int
    arrived_s: float
    queued_s: float = 0.0
    """From arrival until it first joined the batch."""
    first_s: float = 0.0
    """When its first token was written; 0: none yet."""
    sent: int = 0
    """Tokens that were written."""

    @property
    def finish_reason(self) -> str:
        return "stop" if self.ends_itself else "length"

    @property
    def usage(self) -> dict[str, int]:
        total = self.prompt_tokens + self.made
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.made, "total_tokens": total}


class Service:
    """The engine in real time, with its counters and its log."""

    def __init__(self, law: Law, event_tokens: int, chance: random.Random, log: IO[str] | None) -> None:
        self.engine, self.event_tokens, self._log = Engine(law), event_tokens, log
        self._chance = chance
        self._words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=5)) for _ in range(WORDS)]
        self._loop = asyncio.get_running_loop()
        self._wall_s = time.time() - self._loop.time()
        self._number, self._is_stepping, self._ends_s = 0, False, 0.0
        self.late_s = 0.0
        self.prompt_tokens = self.generation_tokens = 0
        self.finished = {"stop": 0, "length": 0, "abort": 0}
        self.ttft = Histogram("time_to_first_token_seconds", TTFT_BUCKETS_S)
        self.tpot = Histogram("request_time_per_output_token_seconds", TPOT_BUCKETS_S)
        self.queue = Histogram("request_queue_time_seconds", LATENCY_BUCKETS_S)
        self.latency = Histogram("e2e_request_latency_seconds", LATENCY_BUCKETS_S)

    def ask(self, connection: Connection, asked: Mapping[str, Any], *, chat: bool) -> Generation | None:
        """The reply to a request, which begins now; None if it can never fit into the KV cache. Raises ValueError."""
        prompt_tokens, most = (
            max(1, _prompt_tokens(asked, chat=chat)),
            asked.get("max_completion_tokens", asked.get("max_tokens")),
        )
        if most is not None and (not isinstance(most, int) or most < 1):
            raise ValueError("max_tokens: expected a whole number of at least 1")
        ends_itself = most is None
        wanted = most or 1 + int(self._chance.expovariate(1 / DEFAULT_OUTPUT_TOKENS))
        if not self.engine.fits(prompt_tokens, wanted):
            return None
        self._number += 1
        generation = Generation(
            prompt_tokens=prompt_tokens,
            output_tokens=wanted,
            id=f"{'chatcmpl' if chat else 'cmpl'}-{self._number}",
            connection=connection,
            chat=chat,
            streamed=bool(asked.get("stream")),
            with_usage=bool((asked.get("stream_options") or {}).get("include_usage")),
            ends_itself=ends_itself,
            first_word=self._chance.randrange(WORDS),
            arrived_s=self._loop.time(),
        )
        self.engine.add(generation)
        if not self._is_stepping:
            self._is_stepping, self._ends_s = True, generation.arrived_s
            self._begin()
        return generation

    def text(self, generation: Generation, first: int, end: int) -> str:
        """Tokens of its output; each but the first of all begins with a space."""
        words = self._words
        text = " ".join([words[(generation.first_word + index) % WORDS] for index in range(first, end)])
        return f" {text}" if first else text

    def abort(self, generation: Generation) -> None:
        """Its client has gone."""
        self.engine.remove(generation)
        self._end_of(generation, "abort")

    def _begin(self) -> None:
        self._ends_s += self.engine.begin()
        for job in self.engine.joined:
            if isinstance(job, Generation) and not job.preemptions:
                job.queued_s = self._loop.time() - job.arrived_s
        self._loop.call_at(self._ends_s, self._end)

    def _end(self) -> None:
        now_s = self._loop.time()
        if now_s - self._ends_s > SLIP_S:
            self.late_s += now_s - self._ends_s
            self._ends_s = now_s
        for job in self.engine.end():
            assert isinstance(job, Generation)
            if job.is_done or job.made - job.sent >= self.event_tokens or not job.sent:
                self._write(job)
        self._is_stepping = self.engine.is_busy
        if self._is_stepping:
            self._begin()

    def _write(self, job: Generation) -> None:
        if not job.sent:
            job.first_s = self._loop.time()
            self.ttft.add(job.first_s - job.arrived_s)
            self.prompt_tokens += job.prompt_tokens
        self.generation_tokens += job.made - job.sent
        if job.streamed:
            job.connection.write_event(job, self.text(job, job.sent, job.made), is_first=not job.sent)
        job.sent = job.made
        if job.is_done:
            self._end_of(job, job.finish_reason)
            job.connection.end(job, self.text(job, 0, job.made) if not job.streamed else "")

    def _end_of(self, job: Generation, reason: str) -> None:
        ended_s = self._loop.time()
        self.finished[reason] += 1
        if reason != "abort":
            self.latency.add(ended_s - job.arrived_s)
            self.queue.add(job.queued_s)
            if job.made > 1:
                self.tpot.add((ended_s - job.first_s) / (job.made - 1))
        if self._log is not None:
            line = {
                "id": job.id, "arrived_s": round(job.arrived_s + self._wall_s, 6),
                "first_s": round(job.first_s + self._wall_s, 6) if job.first_s else None,
                "ended_s": round(ended_s + self._wall_s, 6), "queued_s": round(job.queued_s, 6),
                "prompt_tokens": job.prompt_tokens, "output_tokens": job.made, "preemptions": job.preemptions, "finish": reason,
            }  # fmt: skip
            self._log.write(json.dumps(line) + "\n")

    def metrics(self) -> str:
        """Figures by vLLM's names, in Prometheus' text format."""
        engine = self.engine
        lines = [
            *_sample("num_requests_running", "gauge", len(engine.running)),
            *_sample("num_requests_waiting", "gauge", len(engine.waiting)),
            *_sample("kv_cache_usage_perc", "gauge", engine.kv_used / engine.law.kv_tokens),
            *_sample("num_preemptions_total", "counter", engine.preemptions),
            *_sample("prompt_tokens_total", "counter", self.prompt_tokens),
            *_sample("generation_tokens_total", "counter", self.generation_tokens),
            *(line for each in (self.ttft, self.tpot, self.queue, self.latency) for line in each.lines()),
            "# TYPE vllm:request_success_total counter",
            *(
                f'vllm:request_success_total{{model_name="{MODEL}",finished_reason="{why}"}} {n}'
                for why, n in self.finished.items()
            ),
            "# HELP llm:late_seconds_total Time by which steps ended later than the law says.",
            "# TYPE llm:late_seconds_total counter",
            f"llm:late_seconds_total {self.late_s:.6f}",
        ]
        return "\n".join(lines) + "\n"


def _prompt_tokens(asked: Mapping[str, Any], *, chat: bool) -> int:
    """Words of the prompt; of a prompt of token ids their number. Raises ValueError."""
    if not chat:
        prompt = asked.get("prompt", "")
        if isinstance(prompt, str):
            return len(prompt.split())
        if isinstance(prompt, list):
            return sum(len(each.split()) if isinstance(each, str) else 1 for each in prompt)
        raise ValueError("prompt: expected text or a list")
    messages = asked.get("messages")
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise ValueError("messages: expected a list of objects")
    contents = [each.get("content") or "" for each in messages]
    texts = [part.get("text", "") for each in contents if isinstance(each, list) for part in each if isinstance(part, dict)]
    return sum(len(each.split()) for each in (*texts, *contents) if isinstance(each, str))


class Histogram:
    """Times in seconds, as Prometheus has them."""

    def __init__(self, name: str, most_s: Sequence[float]) -> None:
        self._name, self._most_s = name, most_s
        self._counts, self._sum_s = [0] * (len(most_s) + 1), 0.0

    def add(self, took_s: float) -> None:
        self._counts[bisect_left(self._most_s, took_s)] += 1
        self._sum_s += took_s

    def lines(self) -> list[str]:
        name, total, found = f"vllm:{self._name}", 0, [f"# TYPE vllm:{self._name} histogram"]
        for most, count in zip((*map(float, self._most_s), "+Inf"), self._counts, strict=True):
            total += count
            found.append(f'{name}_bucket{{model_name="{MODEL}",le="{most}"}} {total}')
        return [*found, f'{name}_count{{model_name="{MODEL}"}} {total}', f'{name}_sum{{model_name="{MODEL}"}} {self._sum_s:.6f}']


def _sample(name: str, kind: str, value: float) -> tuple[str, str]:
    return f"# TYPE vllm:{name} {kind}", f'vllm:{name}{{model_name="{MODEL}"}} {value:.9g}'


# -- HTTP/1.1 ------------------------------------------------------------------------------------------------------------------

_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"


class Connection(asyncio.Protocol):
    """One client: a request after the other, each with its reply. Headers of a stream are sent as its request arrives, as uvicorn
    does, long before its first token."""

    transport: asyncio.Transport

    def __init__(self, service: Service) -> None:
        self._service = service
        self._received = bytearray()
        self._reply: Generation | None = None
        self._is_last = False
        self._before, self._after = b"", b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._reply is not None:
            self._service.abort(self._reply)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while self._reply is None and self._take():
            pass

    def _take(self) -> bool:
        """Answer the next request, if it has arrived completely."""
        head, found, _ = bytes(self._received[:HEAD_MOST_BYTES]).partition(b"\r\n\r\n")
        if not found:
            if len(self._received) > HEAD_MOST_BYTES:
                self.transport.close()
            return False
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, path, version = (first.split(" ") + ["", ""])[:3]
        size = headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > BODY_MOST_BYTES or "transfer-encoding" in headers:
            self._answer(_problem("a Content-Length of at most 16 MiB is needed"), "411 Length Required")
            self.transport.close()
            return False
        end = len(head) + 4 + int(size)
        if len(self._received) < end:
            return False
        body = bytes(self._received[len(head) + 4 : end])
        del self._received[:end]
        self._is_last = version == "HTTP/1.0" or headers.get("connection", "").lower() == "close"
        self._route(method, path.partition("?")[0], body)
        return True

    def _route(self, method: str, path: str, body: bytes) -> None:
        match method, path:
            case "POST", "/v1/chat/completions" | "/v1/completions":
                self._generate(body, chat=path == "/v1/chat/completions")
            case "GET", "/health":
                self._answer("{}")
            case "GET", "/v1/models":
                self._answer(
                    json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "capexplorer"}]})
                )
            case "GET", "/metrics":
                self._answer(self._service.metrics(), kind="text/plain; version=0.0.4; charset=utf-8")
            case _:
                self._answer(_problem("there is no such endpoint"), "404 Not Found")

    def _generate(self, body: bytes, *, chat: bool) -> None:
        try:
            asked = json.loads(body)
            if not isinstance(asked, dict):
                raise ValueError("expected an object")
            reply = self._service.ask(self, asked, chat=chat)
        except ValueError as error:
            self._answer(_problem(str(error)), "400 Bad Request")
            return
        if reply is None:
            self._answer(_problem("prompt and output do not fit into the KV cache"), "400 Bad Request")
            return
        self._reply = reply
        if reply.streamed:
            self.transport.write(_STREAM_HEAD)
            kind = '"chat.completion.chunk"' if chat else '"text_completion"'
            text = '"delta":{"content":"' if chat else '"text":"'
            self._before = f'data: {{"id":"{reply.id}","object":{kind},"created":{int(time.time())},"model":"{MODEL}"'.encode()
            self._after = f',"choices":[{{"index":0,{text}'.encode()

    def write_event(self, reply: Generation, text: str, *, is_first: bool) -> None:
        """Write further tokens. A chat begins with an event that has its role and no text."""
        closing = '"}' if reply.chat else '"'
        reason = f'"{reply.finish_reason}"' if reply.is_done else "null"
        event = b'%b%b%b%b,"finish_reason":%b}]}\n\n' % (
            self._before, self._after, text.encode(), closing.encode(), reason.encode()
        )  # fmt: skip
        if is_first and reply.chat:
            role = (
                b'%b,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n' % self._before
            )
            event = role + event
        if reply.is_done:
            if reply.with_usage:
                event += b'%b,"choices":[],"usage":%b}\n\n' % (self._before, json.dumps(reply.usage).encode())
            self.transport.write(b"%x\r\n%bdata: [DONE]\n\n\r\n0\r\n\r\n" % (len(event) + 14, event))
        else:
            self.transport.write(b"%x\r\n%b\r\n" % (len(event), event))

    def end(self, reply: Generation, text: str) -> None:
        """The reply is complete. `text`: all of it, unless it was streamed."""
        self._reply = None
        if not reply.streamed:
            content: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if reply.chat else {"text": text}
            answer = {
                "id": reply.id, "object": "chat.completion" if reply.chat else "text_completion", "created": int(time.time()),
                "model": MODEL, "choices": [{"index": 0, **content, "finish_reason": reply.finish_reason}], "usage": reply.usage,
            }  # fmt: skip
            self._answer(json.dumps(answer))
        elif self._is_last:
            self.transport.close()
        if self._received:
            self.data_received(b"")

    def _answer(self, body: str, status: str = "200 OK", *, kind: str = "application/json") -> None:
        data = body.encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        self.transport.write(head.encode() + data)
        if self._is_last:
            self.transport.close()


def _problem(text: str) -> str:
    return json.dumps({"error": {"message": text, "type": "invalid_request_error"}})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--kv-tokens", type=int, default=100_000)
    parser.add_argument("--prefill-per-s", type=float, default=20_000.0)
    parser.add_argument("--decode-per-s", type=float, default=50.0)
    parser.add_argument("--batch-cost", type=float, default=0.02, help="share by which each further request lengthens a step")
    parser.add_argument("--chunk-tokens", type=int, default=2_048)
    parser.add_argument("--event-tokens", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", default="", help="file to which a line for each request is added")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Users who chat with a language model: the reply is read as it is written. Lengths of prompts and replies are lognormal.

The n-th prompt of a run is the same in each run with the same SEED, whatever user sends it.
"""

from __future__ import annotations

import math
import random

from locust import between, task

from capexplorer.users import LeanHttpUser, stream

PROMPT_TOKENS, REPLY_TOKENS = 300, 100
"""Means. The target `llm` takes a word for a token."""
SPREAD = 0.6
"""Standard deviation of the logarithm of both."""
SEED = 1

lengths = random.Random(SEED)


def tokens(mean: float) -> int:
    return max(1, round(lengths.lognormvariate(math.log(mean) - SPREAD**2 / 2, SPREAD)))


class Chat(LeanHttpUser):
    wait_time = between(2, 6)

    @task
    def ask(self) -> None:
        prompt, reply = "word " * tokens(PROMPT_TOKENS), tokens(REPLY_TOKENS)
        asked = {
            "model": "llm",
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": reply,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        with stream(self.client, "POST", "/v1/chat/completions", events="openai", json=asked) as chunks:
            for _ in chunks:
                pass

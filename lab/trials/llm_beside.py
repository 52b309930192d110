"""capexplorer, guidellm and aiperf on one server of the target `llm` (`python -m lab.trials llm-beside`): up to how many requests
at a time are 95% of them within the limits, or is goodput within them greatest?

Users do not think, so that all three mean the same by concurrency. guidellm and aiperf are in virtual environments of their own,
`RIVALS/guidellm` and `RIVALS/aiperf`, with a tokenizer that takes a word for a token, as the server does: no model is downloaded.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lab.kit.runs import LAB, ROOT, headless
from lab.kit.servers import free_port, listening
from lab.simulation.streams import LanguageModel, Lengths, StreamRun
from lab.trial import Judged, Trial

from .llm import Setting, within_limits

RIVALS = Path(os.environ.get("RIVALS", ROOT / ".rivals"))
PROBE_S, TIMEOUT_S = 20, 900
ATTAINED = 0.95

LAW = {"slots": 16, "kv_tokens": 1 << 20, "prefill_per_s": 20_000.0, "decode_per_s": 50.0, "batch_cost": 0.02}
CHAT = Setting("chat", LanguageModel(LAW, Lengths(300), Lengths(100), 0.0), 500.0, 40.0, "ttft", ("engine_queue",))

TOKENIZER = """
import random, sys
from pathlib import Path
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
chance = random.Random(1)
words = dict.fromkeys("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=5)) for _ in range(4096))
indices = {word: index for index, word in enumerate(("<unk>", "<s>", "</s>", *words))}
tokenizer = Tokenizer(models.WordLevel(indices, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(sys.argv[1])
Path(sys.argv[1], "config.json").write_text('{"model_type": "llama", "vocab_size": 4099}')
"""


class Truth(NamedTuple):
    best: int
    """Requests at a time with the greatest goodput within the limits."""
    goodput_rps: float
    attained: int
    """Most requests at a time of which 95% are within the limits."""


@cache
def truth() -> Truth:
    """That of CHAT."""
    found: dict[int, tuple[float, float]] = {}
    for users in range(8, 33):
        running = StreamRun(CHAT.model, np.random.default_rng([users, 352]))
        running.to(users)
        running.until(30)
        running.take_ended()
        running.until(330)
        good = within_limits(CHAT, running.take_ended())
        found[users] = sum(good) / 300, sum(good) / len(good)
    best = max(found, key=lambda each: found[each][0])
    return Truth(best, found[best][0], max(users for users, (_, share) in found.items() if share >= ATTAINED))


def guidellm(port: int, folder: Path) -> dict[str, Any]:
    """Its profile `goodput`: doubles, then bisects."""
    command = (
        RIVALS / "guidellm/bin/guidellm", "run", "--backend", f"kind=openai_http,target=http://127.0.0.1:{port},model=llm",
        "--tokenizer", f"kind=huggingface_auto,model={folder}",
        "--data", f"kind=synthetic_text,prompt_tokens={CHAT.model.prompt.mean},output_tokens={CHAT.model.reply.mean}",
        "--profile", f"kind=goodput,target_attainment={ATTAINED}", "--constraint", f"kind=max_duration,seconds={PROBE_S}",
        "--metrics", json.dumps({"kind": "generative", "slo": {"ttft_ms": CHAT.ttft_ms, "tpot_ms": CHAT.tpot_ms}}),
        "--output", f"kind=json,path={folder / 'guidellm.json'}", "--disable-console-interactive",
    )  # fmt: skip
    text = _ran(*command)
    found = _all_of(json.loads((folder / "guidellm.json").read_text()), "best_passing_streams")
    probes = [int(each) for each in re.findall(r"Starting benchmark for strategy: concurrent@(\d+)", text)]
    return {"attained": next(iter(found), None), "probes": probes}


def aiperf(port: int, folder: Path) -> dict[str, Any]:
    """Its recipe `max-concurrency-under-sla`, by bisection; limits are those of the p95 of each time."""
    command = (
        RIVALS / "aiperf/bin/aiperf", "profile", "--model", "llm", "--url", f"http://127.0.0.1:{port}", "--endpoint-type", "chat",
        "--streaming", "--tokenizer", folder, "--isl", round(CHAT.model.prompt.mean), "--osl", round(CHAT.model.reply.mean),
        "--search-recipe", "max-concurrency-under-sla", "--search-style", "monotonic", "--concurrency-min", 1,
        "--concurrency-max", 64, "--ttft-sla-ms", CHAT.ttft_ms, "--tpot-sla-ms", CHAT.tpot_ms,
        "--benchmark-duration", PROBE_S, "--ui", "none", "--output-artifact-dir", folder / "aiperf",
    )  # fmt: skip
    _ran(*command)
    said = json.loads((folder / "aiperf/search_history.json").read_text())
    probes = [int(next(iter(each["variation_values"].values()))) for each in said["iterations"]]
    return {"attained": (said["boundary_summary"]["feasible_max"] or {}).get("value"), "probes": probes}


def _ran(*command: object) -> str:
    """What it printed until it ended, or TIMEOUT_S had passed."""
    words = ("timeout", "--kill-after=20", str(TIMEOUT_S), *(str(each) for each in command))
    found = subprocess.run(words, capture_output=True, text=True)
    return found.stdout + found.stderr


def _all_of(tree: Any, key: str) -> list[Any]:
    """All values of a key in a tree that are not None."""
    if isinstance(tree, dict):
        own = [tree[key]] if tree.get(key) is not None else []
        return own + [found for value in tree.values() for found in _all_of(value, key)]
    return [found for value in tree for found in _all_of(value, key)] if isinstance(tree, list) else []


class Beside(Trial[Setting]):
    """One after the other: all three take CPU."""

    name = "llm-beside"
    about = "capexplorer, guidellm and aiperf on one server of the target llm."
    cases = {CHAT.name: CHAT}
    attempts = 1

    def variants(self, case: Setting, options: argparse.Namespace) -> tuple[str, ...]:
        return (options.only,) if options.only else ("capexplorer", "guidellm", "aiperf")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--only", help="one of the three")

    def carry_out(self, case: Setting, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        true = truth()
        if variant == "capexplorer":
            profile = folder / "chat.toml"
            profile.write_text(case.profile(folder / "requests.jsonl"), encoding="utf-8")
            ran = headless(folder, str(profile), "--autopilot", timeout_s=TIMEOUT_S, cwd=LAB)
            names = ("users", "users_low", "users_high", "capacity_rps", "limit")
            found = {name: (ran.knee or {}).get(name) for name in names} | {"explored_s": ran.timeline.last_s}
            return Judged(figures={"true": true._asdict(), **found})
        port = free_port()
        python, act = RIVALS / variant / "bin/python", {"guidellm": guidellm, "aiperf": aiperf}[variant]
        subprocess.run([python, "-c", TOKENIZER, str(folder)], check=True, capture_output=True)
        law = [word for name, value in case.model.law.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        with listening([sys.executable, str(ROOT / "targets/llm/serve.py"), "--port", str(port), *law], port):
            return Judged(figures={"true": true._asdict(), **act(port, folder)})

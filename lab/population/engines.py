"""How often the cause that holds up the replies of a simulated language model is named rightly, wrongly, or not at all.

`python -m lab.population.engines --count 20 [--first 0] [--family slots cache ...] [--unwatched] [--autopilot]`: levels up to 3
times the users at which the engine is full. Seeds as of the population: tuning below 10,000, validation from 10,000 on.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from capexplorer.model.events import Mark
from lab.simulation.ladders import rungs
from lab.simulation.streams import LanguageModel, Lengths, StreamRun
from lab.simulation.virtual import VirtualRun

Random = np.random.Generator

ENGINE_CAUSES = frozenset(("engine_queue", "kv_cache_full", "tokens_slow_down"))
LEVELS, CYCLES, LEAST_S, MOST_S = 6, 5, 20, 120
"""Levels, each of so many cycles of its users."""
EXPLORED_S = 900


class Case(NamedTuple):
    model: LanguageModel
    full_users: float
    """Users at which the engine, or what stands before it, is full."""
    right: Collection[str]
    """Ids of which one is to be named; empty: nothing limits at these loads."""
    also: Collection[str] = ()
    """Ids that are no mistake either."""
    top: float = 3.0
    """Multiple of `full_users` up to which levels go."""


def _log(rng: Random, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _model(rng: Random, **law: float) -> LanguageModel:
    """Replies of 30 to 300 tokens at 20 to 100 a second, prompts of 50 to 1,000 tokens, and pauses of 1 to 10 s."""
    given: Mapping[str, Any] = {
        "slots": 256,
        "kv_tokens": 1 << 20,
        "prefill_per_s": _log(rng, 10_000, 100_000),
        "decode_per_s": _log(rng, 20, 100),
        "batch_cost": _log(rng, 0.001, 0.03),
    }
    prompt, reply = (Lengths(_log(rng, *bounds), float(rng.uniform(0, 1))) for bounds in ((50, 1_000), (30, 300)))
    return LanguageModel({**given, **law}, prompt, reply, _log(rng, 1, 10))


def slots(rng: Random) -> Case:
    """A batch of 2 to 32 requests, which the KV cache has room for and which slows tokens down little."""
    model = _model(rng, slots=int(rng.integers(2, 33)))
    return Case(model, model.law["slots"] + model.capacity_rps * model.think_s, ("engine_queue",), ("tokens_slow_down",))


def cache(rng: Random) -> Case:
    """A KV cache with room for 3 to 20 requests, a quarter to a half of the batch; no prompt or reply is very long."""
    model, room = _model(rng), _log(rng, 3, 20)
    prompt, reply = (each._replace(cv=min(0.5, each.cv)) for each in (model.prompt, model.reply))
    law = {**model.law, "slots": round(room * rng.uniform(2, 4)), "kv_tokens": round(room * (prompt.mean + reply.mean / 2))}
    model = LanguageModel(law, prompt, reply, model.think_s)
    most = LanguageModel({**law, "slots": max(1, round(room))}, prompt, reply, model.think_s)
    return Case(model, room + most.capacity_rps * model.think_s, ("kv_cache_full",), ("tokens_slow_down",))


def batch(rng: Random) -> Case:
    """A batch that is never full, in which each request slows all others down: from 1 / batch_cost on more bring little."""
    model = _model(rng, slots=4_096, kv_tokens=1 << 24, batch_cost=_log(rng, 0.08, 0.5))
    half = 1 / model.law["batch_cost"]
    model = LanguageModel(model.law, model.prompt._replace(mean=50), model.reply, min(model.think_s, model.alone_s))
    return Case(model, half * (1 + model.think_s / (2 * model.alone_s)), ("tokens_slow_down",), top=8.0)


def gateway(rng: Random) -> Case:
    """A gateway lets in a third of what the engine has room for: requests wait in it."""
    model = _model(rng, slots=int(rng.integers(12, 64)), batch_cost=_log(rng, 0.001, 0.005))
    most = int(model.law["slots"]) // 3
    model = LanguageModel(model.law, model.prompt, model.reply, model.think_s, let_in=most)
    served = LanguageModel({**model.law, "slots": most}, model.prompt, model.reply, model.think_s)
    return Case(model, most + served.capacity_rps * model.think_s, ("lock_or_pool_limit",))


def free(rng: Random) -> Case:
    """The engine of `slots`, up to 0.6 of its users: nothing limits it."""
    return slots(rng)._replace(right=(), also=(), top=0.6)


FAMILIES: tuple[Callable[[Random], Case], ...] = (slots, cache, batch, gateway, free)


def named(case: Case, rng: Random, *, watched: bool, explored: bool) -> set[str]:
    """Ids of what is blamed at the end of the session, without those that say that nothing is. `explored`: by the autopilot, in
    place of the levels."""
    session = VirtualRun(StreamRun(case.model, rng, watched=watched), max_users=round(case.top * case.full_users))
    if explored:
        session.explore(EXPLORED_S)
    for users in () if explored else rungs(case.top * case.full_users, LEVELS):
        cycle_s = (case.model.alone_s + case.model.think_s) * max(1.0, 1.5 * users / case.full_users)
        session.climb([users], round(min(MOST_S, max(LEAST_S, CYCLES * cycle_s))))
    session.end()
    latest = {each.key: each for each in session.sink.take() if isinstance(each, Mark) and each.kind == "bottleneck"}
    return {each.id for each in latest.values() if each.state != "retracted"} - {"not_saturated", "think_time_limited"}


def outcome(case: Case, found: Collection[str]) -> str:
    wrong = set(found) - set(case.right) - set(case.also)
    if wrong:
        return f"WRONG {' '.join(sorted(wrong))}"
    return "right" if set(found) & set(case.right) or not (case.right or found) else "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--family", nargs="*", default=[])
    parser.add_argument("--autopilot", action="store_true", help="it explores, as far as the levels would go")
    parser.add_argument("--unwatched", action="store_true", help="the engine's page is not watched")
    options = parser.parse_args()
    found = partial(named, watched=not options.unwatched, explored=options.autopilot)
    for make in FAMILIES:
        if options.family and make.__name__ not in options.family:
            continue
        outcomes = Counter[str]()
        for seed in range(options.first, options.first + options.count):
            rng = np.random.default_rng([seed, [each.__name__ for each in FAMILIES].index(make.__name__), 35])
            outcomes[outcome(case := make(rng), found(case, rng))] += 1
        print(f"{make.__name__:10} {dict(outcomes)}", flush=True)


if __name__ == "__main__":
    main()

"""Explorations of the target `llm`, whose law of time is known (`python -m lab.trials llm`), in ten settings of three kinds.

True are the times that the server itself logs of each request, and, by its law in virtual time, at how many users most requests
a second are within the limits. No threshold was tuned on these settings.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from capexplorer.model.level import Level
from lab.kit.runs import LAB, Ran, headless
from lab.kit.tables import filled, number, table
from lab.simulation.queues import Request
from lab.simulation.streams import LanguageModel, Lengths, StreamRun
from lab.trial import Judged, Result, Trial, latest, load
from lab.trials.faults.trial import HARMLESS, current_of

NEAR = 0.10
TIMES_NEAR, TIMES_NEAR_MS = 0.02, 1.0
"""A time is right if it is within one of both."""
REQUESTS_LEAST = 60
"""Of a level whose times are compared with the server's own."""
TIMEOUT_S = 900.0
BLAMES = ("bottleneck", "cause")


@dataclass(frozen=True, slots=True)
class Setting:
    """A server, its users, and the limits of a request."""

    name: str
    model: LanguageModel
    ttft_ms: float
    tpot_ms: float
    breaks: str
    """The limit that breaks first."""
    reasons: tuple[str, ...]
    """Ids of causes that are right."""

    def profile(self, log: Path) -> str:
        law, model = self.model.law, self.model
        params = ", ".join(f"{name} = {value!r}" for name, value in law.items())
        prompts = json.dumps(["w " * length for length in model.prompt.values])
        return (
            f'title = "{self.name}"\ntarget = "llm"\nparams = {{ {params}, log = "{log}" }}\n'
            f'[users]\nclient = "lean"\nwait_s = {{ between = [{0.5 * model.think_s}, {1.5 * model.think_s}] }}\n'
            f"[users.values]\nprompt = {prompts}\nreply = {model.reply.values}\n"
            '[[users.task]]\nname = "/v1/completions"\nmethod = "POST"\nstream = "openai"\n'
            'json = { prompt = "{{prompt}}", max_tokens = "{{reply}}", stream = true, '
            "stream_options = { include_usage = true } }\n"
            '[[watch]]\nname = "engine"\nprometheus = "http://127.0.0.1:{port}/metrics"\n'
            f"[slo]\nttft_ms = {self.ttft_ms}\ntpot_ms = {self.tpot_ms}\n[guards]\nmax_users = 400\n"
        )


# -- settings: a batch that is full, a KV cache that is full, tokens that slow down


def _setting(kind: str, number: int) -> Setting:
    rng = np.random.default_rng([number, ("slots", "cache", "batch").index(kind), 350])

    def log(low: float, high: float) -> float:
        return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))), 3)

    law: dict[str, float] = {
        "slots": 400,
        "kv_tokens": 1 << 20,
        "prefill_per_s": log(10_000, 50_000),
        "decode_per_s": log(30, 80),
        "batch_cost": log(0.002, 0.02),
    }
    prompt, reply = Lengths(round(log(50, 400)), 0.5), Lengths(round(log(30, 120)), 0.5)
    think_s = log(1, 4)
    alone_ms = 1000 / law["decode_per_s"]
    match kind:
        case "slots":
            law["slots"] = int(rng.integers(8, 21))
            model = LanguageModel(law, prompt, reply, think_s)
            tpot_ms = 3 * alone_ms * (1 + law["batch_cost"] * law["slots"])
            return Setting(f"slots-{number}", model, 1000 * log(0.3, 1.0), round(tpot_ms, 1), "ttft", ("engine_queue",))
        case "cache":
            room = log(6, 14)
            law |= {"slots": round(3 * room), "kv_tokens": round(room * (prompt.mean + reply.mean / 2))}
            model = LanguageModel(law, prompt, reply, think_s)
            return Setting(f"cache-{number}", model, 1000 * log(0.3, 1.0), round(4 * alone_ms, 1), "ttft", ("kv_cache_full",))
        case _:
            law["batch_cost"] = log(0.05, 0.2)
            model = LanguageModel(law, prompt, reply, think_s)
            tpot_ms = alone_ms * (1 + law["batch_cost"] * log(5, 15))
            return Setting(f"batch-{number}", model, 2_000.0, round(tpot_ms, 1), "tpot", ("tokens_slow_down",))


SETTINGS = tuple(
    _setting(kind, number) for kind, count in (("slots", 4), ("cache", 3), ("batch", 3)) for number in range(1, count + 1)
)


# -- what is true


class Truth(NamedTuple):
    users_low: int
    """Fewest and most users with the greatest goodput, to 3%: any of them is right."""
    users_high: int
    goodput_rps: float


SAME = 0.03
"""In TRUE_S of virtual time a goodput of 3 requests a second has a standard error of 2%."""


TRUE_S, WARM_S = 600, 60


def goodput_rps(setting: Setting, users: int) -> float:
    """Requests a second within the limits, in virtual time."""
    running = StreamRun(setting.model, np.random.default_rng([users, 351]))
    running.to(users)
    running.until(WARM_S)
    running.take_ended()
    running.until(WARM_S + TRUE_S)
    return sum(within_limits(setting, running.take_ended())) / TRUE_S


def within_limits(setting: Setting, ended: Sequence[Request]) -> list[bool]:
    """Of each request."""
    stages = [each.stages for each in ended if each.stages is not None]
    return [(each.ttft_ms or 0.0) <= setting.ttft_ms and (each.tpot_ms or 0.0) <= setting.tpot_ms for each in stages]


@cache
def truth(name: str) -> Truth:
    """That of a setting, on a grid of 8% around the best of doubled users."""
    setting = next(each for each in SETTINGS if each.name == name)
    found: dict[int, float] = {}

    def measure(users: float) -> float:
        return found.setdefault(round(users), found.get(round(users)) or goodput_rps(setting, round(users)))

    users = 4
    while measure(2 * users) > 0.7 * 2 * measure(users):
        users *= 2
    for step in range(20):
        measure(0.7 * users * 1.08**step)
    most = max(found.values())
    best = [each for each, goodput in found.items() if goodput >= (1 - SAME) * most]
    return Truth(min(best), max(best), most)


# -- how a run is judged


class Own(NamedTuple):
    """A request in the server's own log."""

    ended_s: float
    ttft_ms: float
    tpot_ms: float | None


def own_times(log: Path) -> list[Own]:
    found = []
    for line in log.read_text(encoding="utf-8").splitlines():
        each = json.loads(line)
        if each["finish"] != "abort":
            further, took_s = each["output_tokens"] - 1, each["ended_s"] - each["first_s"]
            ttft_ms = 1000 * (each["first_s"] - each["arrived_s"])
            found.append(Own(each["ended_s"], ttft_ms, 1000 * took_s / further if further else None))
    return found


def compared(level: Level, began_s: float, own: Sequence[Own]) -> dict[str, Any] | None:
    """The means of a level beside those of the server for the requests of the same seconds; None with too few."""
    if level.settled_s is None or level.figures.requests < REQUESTS_LEAST:
        return None
    here = [each for each in own if 0 <= each.ended_s - began_s - level.settled_s < level.figures.settled_seconds]
    stages, further = level.figures.stages, [each.tpot_ms for each in here if each.tpot_ms is not None]
    if not here or "ttft" not in stages or "tpot" not in stages:
        return None
    return {
        "users": level.users,
        "requests": [level.figures.requests, len(here)],
        "ttft_ms": [stages["ttft"].ms.mean, round(statistics.fmean(each.ttft_ms for each in here), 3)],
        "tpot_ms": [stages["tpot"].ms.mean, round(statistics.fmean(further), 3)],
    }


def is_near(measured: float, true: float) -> bool:
    return abs(measured - true) <= max(TIMES_NEAR_MS, TIMES_NEAR * true)


def judged(setting: Setting, ran: Ran, log: Path) -> Judged:
    true, verdict = truth(setting.name), ran.knee or {}
    began_s = datetime.fromisoformat(ran.timeline.header.started_at).timestamp() if ran.timeline.header is not None else 0.0
    own = own_times(log)
    levels = [found for level in ran.timeline.levels if (found := compared(level, began_s, own)) is not None]
    blamed = sorted({mark.id for mark in current_of(ran.marks) if mark.kind in BLAMES}.difference(HARMLESS))
    users, capacity = verdict.get("users"), verdict.get("capacity_rps")
    problems = {
        "ttft": not all(is_near(*each["ttft_ms"]) for each in levels),
        "tpot": not all(is_near(*each["tpot_ms"]) for each in levels),
        "knee": users is not None and not (1 - NEAR) * true.users_low <= users <= (1 + NEAR) * true.users_high,
        "capacity": capacity is not None and abs(capacity / true.goodput_rps - 1) > NEAR,
        "limit": verdict.get("limit") not in (None, setting.breaks),
    }
    missing = {"knee": users is None, "times": not levels, "reason": not set(blamed) & set(setting.reasons)}
    figures = {name: verdict.get(name) for name in ("users", "users_low", "users_high", "capacity_rps", "confidence", "limit")}
    return Judged(
        missing=tuple(name for name, is_so in missing.items() if is_so),
        wrong=(*(name for name, is_so in problems.items() if is_so), *(each for each in blamed if each not in setting.reasons)),
        figures=figures
        | {
            "true": true._asdict(),
            "blamed": blamed,
            "levels": levels,
            "explored_s": ran.timeline.last_s,
            "exit_code": ran.exit_code,
            "generator_cpu_ratio": ran.median("generator_cpu_ratio"),
        },
    )


class Llm(Trial[Setting]):
    """The server waits rather than computes, so two can run at once."""

    name = "llm"
    about = "The autopilot on ten settings of a language model's server whose law is known."
    cases: Mapping[str, Setting] = {each.name: each for each in SETTINGS}
    parallel = 2

    def carry_out(self, case: Setting, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        profile, log = folder / f"{case.name}.toml", folder / "requests.jsonl"
        profile.write_text(case.profile(log), encoding="utf-8")
        return judged(case, headless(folder, str(profile), "--autopilot", timeout_s=TIMEOUT_S, cwd=LAB), log)

    def page(self, results: Sequence[Result]) -> str:
        beside = latest(load("llm-beside", Result))
        levels = [each for result in results for each in result.figures.get("levels", ())]
        off = sorted(own[0] - own[1] for own in (each["ttft_ms"] for each in levels))
        is_right = {
            name: sum(not {name, *more} & {*each.wrong, *each.missing} for each in results)
            for name, more in (("knee", ()), ("capacity", ()), ("reason", ("limit",)))
        }
        near = {name: sum(is_near(*each[name]) for each in levels) for name in ("ttft_ms", "tpot_ms")}
        of, of_levels = f"of {len(results)}", f"of {len(levels)}"
        true = next((each.figures["true"] for each in beside), {"best": 0, "goodput_rps": 0.0, "attained": 0})
        kinds = dict.fromkeys(name.partition("-")[0] for name in self.cases)
        rows = [self._row([each for each in results if each.case.startswith(kind)]) for kind in kinds]
        head = ("settings", "knees, of the true ones", "goodputs, of the true ones", "breaks first", "blamed")
        return filled(
            self.name,
            knees=f"{is_right['knee']} {of}",
            capacities=f"{is_right['capacity']} {of}",
            reasons=f"{is_right['reason']} {of}",
            tpot=f"{near['tpot_ms']} {of_levels}",
            ttft=f"{near['ttft_ms']} {of_levels}",
            ttft_off=number(statistics.median(off), ".1f"),
            ttft_most=number(off[-1], ".1f"),
            settings=table(head, rows, "l"),
            best=true["best"],
            goodput=number(true["goodput_rps"]),
            attained=true["attained"],
            beside=table(("tool", "says", "after"), [_said(each) for each in beside], "l"),
        )

    @staticmethod
    def _row(results: Sequence[Result]) -> tuple[str, ...]:
        """One kind of settings."""
        found = [(each.figures, Truth(**each.figures["true"])) for each in results]
        knees = [f"{each['users'] / min(max(each['users'], true.users_low), true.users_high):.0%}" for each, true in found]
        rates = [f"{each['capacity_rps'] / true.goodput_rps:.0%}" for each, true in found]
        limits, blamed = (
            dict.fromkeys(words) for words in zip(*[(each["limit"], *each["blamed"]) for each, _ in found], strict=True)
        )
        return (results[0].case.partition("-")[0], " ".join(knees), " ".join(rates), " ".join(limits), " ".join(blamed))


def _interval(found: Mapping[str, Any]) -> str:
    value, low, high = (number(found[name], ".0f") for name in ("users", "users_low", "users_high"))
    return f"{value} [{low}–{high}]"


def _said(result: Result) -> tuple[str, str, str]:
    found = result.figures
    if result.variant == "capexplorer":
        knee = (
            f"knee at {number(found['users'], '.0f')} [{number(found['users_low'], '.0f')}–{number(found['users_high'], '.0f')}]"
        )
        says = f"{knee}, {number(found['capacity_rps'])}/s, {found['limit']} breaks first"
    else:
        probes = " ".join(map(str, found.get("probes", ())))
        says = f"up to {number(found.get('attained'), '.0f')} are within; tried {probes}"
    return result.variant, says, f"{result.seconds:.0f} s"

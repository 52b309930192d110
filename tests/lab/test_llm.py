"""The trial of the target `llm`: its settings are profiles, and times are compared with the server's own of the same seconds."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from capexplorer import profile as profiles
from capexplorer.model.figures import LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.stages import StageFigures
from lab.simulation.streams import LanguageModel, Lengths, StreamRun
from lab.trials.llm import SETTINGS, compared, goodput_rps, is_near, own_times


@pytest.mark.parametrize("setting", SETTINGS, ids=[each.name for each in SETTINGS])
def test_each_setting_is_a_profile_of_the_target(setting: object, tmp_path: Path) -> None:
    path = tmp_path / "setting.toml"
    path.write_text(setting.profile(tmp_path / "log"))  # type: ignore[attr-defined]
    assert profiles.load(path).target == "llm"


def test_a_level_is_compared_with_the_requests_that_the_server_ended_in_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    times = [(99.0, 5), (105.0, 11), (108.0, 21), (109.0, 1), (125.0, 5)]
    log.write_text(
        "".join(
            json.dumps(
                {"arrived_s": at - 1.2, "first_s": at - 1.0, "ended_s": at, "output_tokens": n, "finish": "length"}
            ) + "\n"
            for at, n in times
        )
    )  # fmt: skip
    figures = LevelFigures(
        settled=True, settled_seconds=20.0, requests=80, goodput_rps=1.0,
        stages={"ttft": StageFigures(ms=Latency(mean=201.0)), "tpot": StageFigures(ms=Latency(mean=76.0))},
    )  # fmt: skip
    level: Any = SimpleNamespace(users=4, settled_s=3.0, figures=figures)
    found = compared(level, 97.0, own_times(log))
    assert found == {"users": 4, "requests": [80, 3], "ttft_ms": [201.0, 200.0], "tpot_ms": [76.0, 75.0]}


def test_a_time_is_near_by_a_millisecond_or_by_a_fiftieth() -> None:
    assert is_near(10.9, 10.0)
    assert not is_near(11.1, 10.0)
    assert is_near(509.0, 500.0)
    assert not is_near(511.0, 500.0)


def test_most_replies_within_the_limits_come_where_the_batch_is_just_full() -> None:
    setting = next(each for each in SETTINGS if each.name == "slots-1")
    full = setting.model.law["slots"] + setting.model.capacity_rps * setting.model.think_s
    beyond, at, below = (goodput_rps(setting, round(share * full)) for share in (1.5, 0.95, 0.5))
    assert at > 1.5 * below > 0
    assert beyond < 0.8 * at


def test_in_virtual_time_a_gateway_lets_in_so_many_requests_in_order() -> None:
    law = {"slots": 8, "kv_tokens": 10_000, "prefill_per_s": 1e6, "decode_per_s": 10.0, "batch_cost": 0.0}
    running = StreamRun(LanguageModel(law, Lengths(1), Lengths(11), think_s=1.0, let_in=2), np.random.default_rng(1))
    running.to(6)
    running.until(60.0)
    assert len(running.engine.running) == 2
    ended = running.take_ended()
    assert len(ended) == pytest.approx(2 * 60 / 1.1, abs=3)  # while another one is in the batch, a first token takes a step, too
    assert {round(each.stages.tpot_ms or 0.0) for each in ended if each.stages is not None} == {100}

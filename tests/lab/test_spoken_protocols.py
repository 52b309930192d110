"""The shipped samples of other protocols, each against a real server: every request has its name and succeeds, and clients
whose sockets the guard does not see are named as the run starts."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from capexplorer.model.events import LevelClosed, LevelOpened, Log, Sample
from lab.kit.runs import events_of, started_run
from lab.trials.protocols.trial import KNEE, SPOKEN, Protocols, Spoken

pytestmark = pytest.mark.slow

NAMES = {  # those of a library; the others: tests/targets/test_protocols.py
    "postgres": {"SQL statement"},
    "redis": {"Redis DEBUG"},
    "mqtt": {"MQTT ask"},
    "dns": {"DNS A"},
    "grpc": {"gRPC /sample.Pool/Work", "gRPC /sample.Pool/Stream"},
}


def _open(folder: str) -> Path:
    path = Path(folder)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("spoken", [each for each in SPOKEN if each.name in NAMES], ids=lambda spoken: spoken.name)
def test_a_sample_speaks_with_a_real_server(spoken: Spoken, tmp_path: Path) -> None:
    if why_not := Protocols().why_not(spoken, Protocols()._options([])):
        pytest.skip(why_not)
    with (
        TemporaryDirectory() as folder,  # other users may enter, as they may not those of pytest
        spoken.serve(_open(folder), KNEE) as (words, variables),
        started_run(tmp_path, spoken.name, *words, "--headless", "--plan", "3:4s", environment=variables) as run,
    ):
        assert run.exit_code() == 0, run.stderr
    events = run.events()
    levels = events_of(events, LevelClosed)
    settled = [each for level in levels for each in level.endpoints if each.requests]
    assert {f"{each.method} {each.name}" for each in settled} <= NAMES[spoken.name]
    assert settled
    assert [failure for sample in events_of(events, Sample) for failure in sample.failures] == []
    begun_s = events_of(events, LevelOpened)[0].t_s
    warned = [log.text for log in events_of(events, Log) if log.warns and log.t_s <= begun_s]
    unseen = {name for name in ("psycopg", "grpc") if any(name in text for text in warned)}
    assert unseen == {spoken.library} & {"psycopg", "grpc"}

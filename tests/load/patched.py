"""Scenes: functions of a module that run in a fresh, patched process and answer with plain values.

gevent patches a whole process, and pytest's own must stay as it is. A start costs half a second, so a module of scenes is played
as a whole: each of its public functions is called with the arguments by its parameters' names, and what it returns (or the
traceback) comes back as JSON.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 240.0


class Played:
    """What the scenes of a module answered."""

    def __init__(self, answers: dict[str, Any], output: str) -> None:
        self._answers, self.output = answers, output

    def __getitem__(self, scene: str) -> Any:
        answer = self._answers[scene]
        assert "raised" not in answer, f"scene {scene} raised:\n{answer['raised']}\n{self.output[-4000:]}"
        return answer["value"]


def play(module: str, within: Sequence[str] = (), **arguments: Any) -> Played:
    """Play all scenes of `tests.MODULE`, in the order written, in one fresh process; `within`: the command that starts it."""
    done = subprocess.run(
        [*within, sys.executable, "-m", "tests.load.patched", f"tests.{module}", json.dumps(arguments)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": "tests"}, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    output = done.stdout + done.stderr
    found = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert found, f"the process of {module} ended with {done.returncode} and no answers:\n{output}"
    return Played(json.loads(found[-1].removeprefix("ANSWERS ")), output)


def _answers(module: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from capexplorer.load import native

    native.patch()
    scenes = importlib.import_module(module)
    return {name: _answer(scene, arguments) for name, scene in list(vars(scenes).items()) if _is_scene(name, scene, module)}


def _is_scene(name: str, scene: object, module: str) -> bool:
    return inspect.isfunction(scene) and scene.__module__ == module and not name.startswith("_")


def _answer(scene: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"value": scene(*(arguments[name] for name in inspect.signature(scene).parameters))}
    except BaseException:  # the process boundary: reported to the test that asks for it
        return {"raised": traceback.format_exc()}


def _pytest(arguments: Sequence[str]) -> int:
    from capexplorer.load import native

    native.patch()  # before pytest imports what gevent patches
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:unraisableexception"]  # users and their sockets outlive a test
    for ignored in ("ignore::pytest.PytestAssertRewriteWarning", "ignore:Unverified HTTPS request"):
        options += ["-W", ignored]
    return importlib.import_module("pytest").main([*options, *arguments])  # type: ignore[no-any-return]


if __name__ == "__main__":
    if sys.argv[1].endswith(".py"):
        code = _pytest(sys.argv[1:])
        sys.stdout.flush()
        os._exit(code)
    line = "ANSWERS " + json.dumps(_answers(sys.argv[1], json.loads(sys.argv[2])))
    sys.stdout.flush()
    os.write(1, f"\n{line}\n".encode())
    os._exit(0)  # without waiting for users and hubs of the scenes

"""Shell completion in real shells: bash, zsh and fish. Which words are completed: tests/commands/test_completing.py."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from programs import needs, require

from .rig import PROGRAM, TIMEOUT_S, command_on_terminal

pytestmark = pytest.mark.slow

SHELLS = {  # to its arguments, and the line that sets completion up and then prints "ready"
    "bash": (
        ["--norc", "--noprofile", "-i"],
        'bind "set bell-style none"; eval "$(capexplorer completion bash)"; echo rea""dy',
    ),
    "zsh": (["-f", "-i"], 'autoload -Uz compinit; compinit -u -D; eval "$(capexplorer completion zsh)"; echo rea""dy'),
}


WITH_OURS = f"{Path(PROGRAM).parent}:{os.environ['PATH']}"
"""A PATH with `capexplorer`."""


@pytest.mark.parametrize("name", SHELLS)
def test_tab_completes_the_name_of_a_profile(name: str, tmp_path: Path) -> None:
    require(name)
    words, setup = SHELLS[name]
    own = {"PATH": WITH_OURS, "HOME": str(tmp_path), "PS1": "$ "}
    program = ("/usr/bin/env", *(f"{variable}={value}" for variable, value in own.items()), name, *words)
    with command_on_terminal(tmp_path, cwd=tmp_path, program=program) as shell:
        shell.type(f"{setup}\n")
        shell.wait_for(lambda: "ready" in shell.written, "the end of the set-up")
        shell.type("capexplorer run taskqueue-l\t")
        shell.wait_for(lambda: "taskqueue-leak" in shell.written, "the completed name")
        shell.process.kill()


@needs("fish")
def test_fish_completes_the_name_of_a_profile(tmp_path: Path) -> None:
    done = subprocess.run(
        ["fish", "--no-config", "-c", "capexplorer completion fish | source; complete -C 'capexplorer run taskqueue-l'"],
        env={"PATH": WITH_OURS, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.stdout.split() == ["taskqueue-leak"], done.stderr

"""Shell completion in real shells: bash, zsh and fish. Which words are completed: tests/commands/test_completing.py."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from pathlib import Path
from time import monotonic

import pytest
from programs import needs, require

from .rig import PROGRAM, TIMEOUT_S

pytestmark = pytest.mark.slow

SHELLS = {  # to the words that start the shell, and the line that sets completion up and then prints "ready"
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        'bind "set bell-style none"; eval "$(capexplorer completion bash)"; echo rea""dy',
    ),
    "zsh": (["zsh", "-f", "-i"], 'autoload -Uz compinit; compinit -u -D; eval "$(capexplorer completion zsh)"; echo rea""dy'),
}


def environment(home: Path) -> dict[str, str]:
    """No configuration of the user's own, and `capexplorer` in the PATH."""
    path = f"{Path(PROGRAM).parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "TERM": "xterm", "LANG": "C.UTF-8", "PS1": "$ ", "XDG_CONFIG_HOME": str(home)}


class Shell:
    """An interactive shell on a pseudo-terminal."""

    def __init__(self, words: list[str], home: Path) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            words, stdin=slave, stdout=slave, stderr=slave, cwd=home, env=environment(home), start_new_session=True
        )
        os.close(slave)
        self.written = ""

    def type(self, text: str, *, until: str) -> None:
        """Type a text, and wait until the shell prints the text `until`."""
        typed_at = len(self.written)
        os.write(self._master, text.encode())
        deadline_s = monotonic() + TIMEOUT_S
        while until not in self.written[typed_at:]:
            assert monotonic() < deadline_s, f"not seen: {until}; output: {self.written}"
            if select.select([self._master], [], [], 0.2)[0]:
                self.written += os.read(self._master, 65_536).decode("utf-8", "replace")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.mark.parametrize("name", SHELLS)
def test_tab_completes_the_name_of_a_profile(name: str, tmp_path: Path) -> None:
    require(name)
    words, setup = SHELLS[name]
    shell = Shell(words, tmp_path)
    try:
        shell.type(f"{setup}\n", until="ready")
        shell.type("capexplorer run taskqueue-l\t", until="taskqueue-leak")
    finally:
        shell.end()


@needs("fish")
def test_fish_completes_the_name_of_a_profile(tmp_path: Path) -> None:
    done = subprocess.run(
        ["fish", "--no-config", "-c", "capexplorer completion fish | source; complete -C 'capexplorer run taskqueue-l'"],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.stdout.split() == ["taskqueue-leak"], done.stderr

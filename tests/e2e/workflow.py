"""Runs the `run:` steps of a workflow for GitHub Actions as its runner does; steps of published actions are left out."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from .rig import TIMEOUT_S

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")
_NAME = re.compile(r"\b(?:inputs|github|steps)(?:\.[\w-]+)+")
SHELL = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
"""The runner's command for `shell: bash`."""


@dataclass
class Job:
    """One job in a folder: `contexts` has `github` and, within an action, its `inputs`; `environment` that of the runner."""

    folder: Path
    environment: Mapping[str, str]
    contexts: dict[str, Any]
    failed: bool = False
    outputs: list[str] = field(default_factory=list)
    """What each step printed."""

    def run(self, steps: list[dict[str, Any]]) -> None:
        """Run the steps in order; after one that failed only those that say so."""
        for step in steps:
            condition = str(step.get("if", "true"))
            if (self.failed and "cancelled()" not in condition) or not self._holds(condition):
                continue
            if "run" in step:
                self._shell(step)
            elif str(step["uses"]).startswith("./"):
                self._action(step)

    def _action(self, step: Mapping[str, Any]) -> None:
        """A composite action of the repository."""
        action = yaml.safe_load((self.folder / step["uses"] / "action.yml").read_text(encoding="utf-8"))
        given = {name: self._text(value) for name, value in step.get("with", {}).items()}
        assert set(given) <= set(action["inputs"]), "unknown inputs"
        defaults = {name: str(each.get("default", "")) for name, each in action["inputs"].items()}
        inner = Job(self.folder, self.environment, {**self.contexts, "inputs": defaults | given, "steps": {}})
        inner.run(action["runs"]["steps"])
        self.failed, self.outputs = inner.failed, [*self.outputs, *inner.outputs]
        values = {name: inner._text(each["value"]) for name, each in action["outputs"].items()}
        self.contexts.setdefault("steps", {})[step.get("id", "")] = {"outputs": values}

    def _shell(self, step: Mapping[str, Any]) -> None:
        files = {name: self.folder.parent / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        files["GITHUB_OUTPUT"].write_text("")
        own = {name: self._text(value) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            [*SHELL, "-c", self._text(step["run"])],
            cwd=self.folder,
            env={**self.environment, **{name: str(path) for name, path in files.items()}, **own},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        self.failed |= done.returncode != 0
        self.outputs.append(done.stdout)
        lines = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        self.contexts.setdefault("steps", {})[step.get("id", "")] = {"outputs": lines}

    def _text(self, value: object) -> str:
        """A value with its expressions replaced."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return _EXPRESSION.sub(lambda found: self._shown(self._value(found[1])), text)

    def _holds(self, condition: str) -> bool:
        return bool(self._value(_EXPRESSION.sub(r"\1", condition)))

    def _value(self, expression: str) -> object:
        """What an expression of names, texts, `==`, `!=`, `&&` and `!cancelled()` means."""
        for text, meaning in (("!cancelled()", "True"), ("&&", " and "), ("true", "True")):
            expression = expression.replace(text, meaning)
        named = _NAME.sub(lambda found: repr(self._named(found[0])), expression)
        return eval(named.strip(), {"__builtins__": {}})

    def _named(self, name: str) -> object:
        found: Any = self.contexts
        for part in name.split("."):
            found = found.get(part, "") if isinstance(found, Mapping) else ""
        return found

    @staticmethod
    def _shown(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)


def runner_environment(programs: Path, home: Path) -> dict[str, str]:
    """The variables of a runner whose programs are found in this folder first."""
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "FORCE_COLOR": "1",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }

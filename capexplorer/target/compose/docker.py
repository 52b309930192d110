"""Calls of docker and Compose: each returns the output, or raises an error with the line that describes what is wrong.

`docker compose` is preferred to `docker-compose`, whose version 1 is not maintained; only what both support is used.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from ...errors import TargetError

ASK_S = 20.0
"""Timeout of one call. A daemon on another machine may take seconds."""

_COMPOSE = (("docker", "compose"), ("docker-compose",))
_NO_ERROR = ("level=warning", "level=info")
"""Parts of lines that Compose logs beside its error."""


def ask(words: Sequence[str], *, timeout_s: float = ASK_S, environment: Mapping[str, str] | None = None) -> str:
    """The output of a command. Raises TargetError with its error in one line."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=environment,
            start_new_session=True,  # SIGTERM to the target's process group must not cut an answer short
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"`{' '.join(words[:2])}` did not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise TargetError(f"cannot run {words[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise TargetError(error_in(done.stderr or done.stdout) or f"`{' '.join(words)}` ended with exit code {done.returncode}")
    return done.stdout


def error_in(text: str) -> str | None:
    """The last line that is neither empty nor a warning; None without one."""
    lines = (line.strip() for line in reversed(text.splitlines()))
    return next((line for line in lines if line and not any(mark in line for mark in _NO_ERROR)), None)


def compose_command() -> tuple[str, ...] | None:
    """The command of Compose; None if it is not installed."""
    for words in _COMPOSE:
        try:
            ask([*words, "version"])
        except TargetError:
            continue
        return words
    return None


def of_project(project: str) -> tuple[str, str]:
    """The filter that selects what belongs to a project."""
    return "--filter", f"label=com.docker.compose.project={project}"

"""A task, and the folder in which tasks are saved, one JSON file each, so that they survive the end of the service."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Status = Literal["QUEUED", "RUNNING", "SUCCEEDED", "FAILED"]


@dataclass(frozen=True, slots=True)
class Task:
    """One task in its current state."""

    id: str
    kind: str
    status: Status = "QUEUED"
    result: dict[str, Any] | None = None
    """None unless it has SUCCEEDED."""
    error: str | None = None
    """None unless it has FAILED."""

    @property
    def has_ended(self) -> bool:
        return self.status in ("SUCCEEDED", "FAILED")


class TaskFolder:
    """A file for each task. Files are replaced atomically, so a service that is killed while it writes leaves the old one. All
    methods raise OSError.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._path = path

    def save(self, task: Task) -> None:
        """Write the task's file. It is not synced: it survives the service, but not a crash of the machine."""
        unfinished = self._path / f"{task.id}.unfinished"
        unfinished.write_text(json.dumps(asdict(task)), encoding="utf-8")
        os.replace(unfinished, self._file(task.id))

    def forget(self, task_id: str) -> None:
        """Delete the task's file, if there is one."""
        self._file(task_id).unlink(missing_ok=True)

    def load(self) -> list[Task]:
        """All tasks, oldest first. A file that is not a task is skipped."""
        found = []
        for path in sorted(self._path.glob("*.json")):
            with suppress(ValueError, TypeError):
                found.append(Task(**json.loads(path.read_text(encoding="utf-8"))))
        return found

    def _file(self, task_id: str) -> Path:
        return self._path / f"{task_id}.json"

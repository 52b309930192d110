"""What a task is, and the folder that keeps tasks over the death of the service: one JSON file each.

Knows nothing of queues, workers and HTTP.
"""

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
    """One task as it stands."""

    id: str
    kind: str
    status: Status = "QUEUED"
    result: dict[str, Any] | None = None
    """Of one that SUCCEEDED."""
    error: str | None = None
    """Of one that FAILED."""

    @property
    def is_over(self) -> bool:
        return self.status in ("SUCCEEDED", "FAILED")


class TaskFolder:
    """A file is replaced whole, so that a service killed in mid-write leaves the old one. All methods raise OSError."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._path = path

    def save(self, task: Task) -> None:
        """Not fsynced: it outlives the service, not the machine."""
        unfinished = self._path / f"{task.id}.unfinished"
        unfinished.write_text(json.dumps(asdict(task)), encoding="utf-8")
        os.replace(unfinished, self._file(task.id))

    def forget(self, task_id: str) -> None:
        """Its file is gone, if there was one."""
        self._file(task_id).unlink(missing_ok=True)

    def load(self) -> list[Task]:
        """All tasks, oldest first. A file that cannot be read as a task is passed over."""
        found = []
        for path in sorted(self._path.glob("*.json")):
            with suppress(ValueError, TypeError):
                found.append(Task(**json.loads(path.read_text(encoding="utf-8"))))
        return found

    def _file(self, task_id: str) -> Path:
        return self._path / f"{task_id}.json"

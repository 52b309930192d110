"""`--baseline`: the capacity curve of a saved session, drawn behind that of another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .. import paths
from ..errors import InputError

if TYPE_CHECKING:
    from ..report.compare.comparison import Curve
    from ..tui.screens.baseline_choice import Baselines

MOST_BYTES_LIVE = 20_000_000
"""Largest log that is read while load may run, about two hours of a session: reading it delays the load by 0.1 s."""


def baselines(first: str | None, sessions_dir: Path | None, *, live: bool) -> Baselines:
    """The baselines that a screen may draw. `first`: the session of `--baseline`, which is read now. Raises InputError."""
    from ..tui.screens.baseline_choice import Baselines

    folder = sessions_dir or paths.sessions()
    most = MOST_BYTES_LIVE if live else None
    return Baselines(lambda name: curve(name, folder, most), None if first is None else curve(first, folder))


def curve(name: str, folder: Path, most_bytes: int | None = None) -> Curve:
    """The curve of `ID` or `ID#1`; of a session with several epochs that of the last. Raises InputError."""
    from ..report.compare import Session, curve_of_last
    from ..wording.quantities import size
    from .compare import locate, read

    path, epoch = locate(name, folder)
    if most_bytes is not None and path.stat().st_size > most_bytes:
        raise InputError(
            f"{name}: its log has {size(path.stat().st_size)}; give it at the start, with --baseline: reading it would delay the "
            "load"
        )
    timeline, latencies, _ = read(path)
    return curve_of_last(Session(timeline, epoch, latencies=latencies))

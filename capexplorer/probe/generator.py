"""Readings of the generator, which is this process, and of its threads. CPU ratios are in cores."""

from __future__ import annotations

import time

from ..model.readings import GeneratorReading
from . import parse
from .procfs import Growth, KeptFile, per_second
from .syscalls import PAGE_BYTES, open_files, own_limit_of_open_files
from .threads import Thread, core_share


class GeneratorProbe:
    """Reads one GeneratorReading per tick. Threads are given by their native ids; None: there is no such thread."""

    def __init__(self, load_tid: int | None, screen_tid: int | None, recorder_tid: int | None) -> None:
        self._load, self._screen, self._recorder = (
            Thread(f"/proc/self/task/{tid}/schedstat") if tid is not None else None
            for tid in (load_tid, screen_tid, recorder_tid)
        )
        self._statm = KeptFile("/proc/self/statm")
        self._growth = Growth()

    def read(self, elapsed_s: float, lag_ms: tuple[float, float, float] | None = None) -> GeneratorReading:
        """The generator over the last `elapsed_s`. `lag_ms` is the loop lag that the load room measured: p50, p99, max."""
        load, screen, recorder = (each.read() if each else None for each in (self._load, self._screen, self._recorder))
        process_ns = self._growth("process", time.process_time_ns())
        rss_pages = parse.statm_rss_pages(self._statm.read())
        lag_p50, lag_p99, lag_max = lag_ms or (None, None, None)
        return GeneratorReading(
            cpu_ratio=core_share(load, elapsed_s),
            run_delay_ratio=per_second(load.run_delay_ns, elapsed_s, 1e9) if load else None,
            screen_cpu_ratio=core_share(screen, elapsed_s),
            recorder_cpu_ratio=core_share(recorder, elapsed_s),
            process_cpu_ratio=per_second(process_ns, elapsed_s, 1e9),
            rss_bytes=None if rss_pages is None else rss_pages * PAGE_BYTES,
            fds=open_files("self"),
            fds_limit=own_limit_of_open_files(),
            loop_lag_p50_ms=lag_p50,
            loop_lag_p99_ms=lag_p99,
            loop_lag_max_ms=lag_max,
        )

    def close(self) -> None:
        """Close the files."""
        for each in (self._load, self._screen, self._recorder, self._statm):
            if each is not None:
                each.close()

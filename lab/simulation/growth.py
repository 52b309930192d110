"""Memory and descriptors of services, second by second: healthy ones that warm up, vary or collect garbage, and ones that leak.

Independent of the detector. Shapes are those of allocators, caches, pools and garbage collectors; parameters are random.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]
Rng = np.random.Generator
Shape = Callable[[Rng, Series], Series]
"""Bytes in use at each time, in seconds since the load began."""

MB = 1e6


def _noise(rng: Rng, times: Series, scale: float) -> Series:
    """Independent noise from second to second: pages that are allocated and freed."""
    return scale * rng.standard_normal(len(times))


def _base(rng: Rng) -> float:
    return float(rng.uniform(20, 400)) * MB


def flat(rng: Rng, times: Series) -> Series:
    return _base(rng) + _noise(rng, times, rng.uniform(0, 1) * MB)


def warm_up(rng: Rng, times: Series) -> Series:
    """An exponential approach: lazy imports, arenas, connection buffers."""
    tau, amplitude = rng.uniform(2, 60), rng.uniform(0.1, 1.5)
    base = _base(rng)
    return base * (1 + amplitude * (1 - np.exp(-times / tau))) + _noise(rng, times, 0.2 * MB)


def filling(rng: Rng, times: Series) -> Series:
    """A cache that fills at a constant rate for 10 to 60 s, and is full then."""
    full_s, base = rng.uniform(10, 60), _base(rng)
    return base * (1 + rng.uniform(0.1, 0.9) * np.minimum(times / full_s, 1)) + _noise(rng, times, 0.2 * MB)


def coupons(rng: Rng, times: Series) -> Series:
    """Threads that create an arena at their first large request: one step each, less and less often."""
    threads, rate, step = rng.integers(4, 64), rng.uniform(0.2, 5), rng.uniform(0.1, 2) * MB
    at = np.sort(rng.exponential(threads / rate, threads))
    return np.asarray(_base(rng) + step * np.searchsorted(at, times), float)


def records(rng: Rng, times: Series) -> Series:
    """A high-water mark: memory is kept for the largest burst so far."""
    bursts = rng.exponential(rng.uniform(0.2, 3) * MB, len(times))
    return np.asarray(_base(rng) + np.maximum.accumulate(bursts), float)


def wander(rng: Rng, times: Series) -> Series:
    """A correlated wave around a level."""
    rho, scale, base = rng.uniform(0.9, 0.995), rng.uniform(0.05, 2) * MB, _base(rng)
    wave = np.zeros(len(times))
    for index, shock in enumerate(scale * rng.standard_normal(len(times))):
        wave[index] = rho * wave[index - 1] + shock
    return base + wave


def sawtooth(rng: Rng, times: Series) -> Series:
    """A collector that lets garbage pile up for 5 to 40 s."""
    period, base = rng.uniform(5, 40), _base(rng)
    return base * (1 + rng.uniform(0.05, 0.6) * ((times / period + rng.uniform()) % 1)) + _noise(rng, times, 0.2 * MB)


HEALTHY: dict[str, Shape] = {shape.__name__: shape for shape in (flat, warm_up, filling, coupons, records, wander, sawtooth)}


def leaking(rng: Rng, times: Series, per_s: float) -> Series:
    """A leak on top of a warm-up, in pages or in arenas of a megabyte."""
    quantum = rng.choice([4096.0, 1 << 20])
    return np.asarray(warm_up(rng, times) + np.floor(per_s * times / quantum) * quantum, float)


def descriptors(rng: Rng, times: Series, per_s: float = 0.0) -> Series:
    """One connection per user and some files, a pool that fills in the first seconds, short connections, and a leak of
    `per_s`."""
    users, pool = rng.integers(5, 200), rng.integers(0, 32)
    pooled = pool * (1 - np.exp(-times / rng.uniform(1, 8)))
    churn = rng.poisson(rng.uniform(0, 4), len(times))
    return np.asarray(np.floor(10 + users + pooled) + churn + np.floor(per_s * times), float)

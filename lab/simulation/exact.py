"""Exact results for closed queues with exponential service, with which both the simulator and the detector are compared.

A closed queue whose users think for a mean time Z and are then served at a total rate mu(n) when n of them are present is a
birth-death chain, whose balance equations are solved exactly. The distribution of think times does not matter (product form,
Baskett, Chandy, Muntz & Palacios 1975).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rate = Callable[[int], float]
"""Completions a second when n users are present."""


def servers(count: int, service_s: float) -> Rate:
    """M/M/c: `count` servers that each need `service_s` on average."""
    return lambda present: min(present, count) / service_s


def usl(rate_rps: float, sigma: float, kappa: float) -> Rate:
    """A server that follows Gunther's law: alone a user gets `rate_rps`; contention `sigma` and coherency `kappa` reduce the
    rate."""
    return lambda present: rate_rps * present / (1 + sigma * (present - 1) + kappa * present * (present - 1))


def throughput_rps(users: int, think_s: float, rate: Rate) -> float:
    """X(N) of a closed queue with state-dependent service."""
    if think_s == 0:
        return rate(users)
    log_p = np.zeros(users + 1)
    for present in range(1, users + 1):
        log_p[present] = log_p[present - 1] + np.log((users - present + 1) / think_s) - np.log(rate(present))
    probabilities = np.exp(log_p - log_p.max())
    rates = np.array([0.0] + [rate(present) for present in range(1, users + 1)])
    return float(probabilities @ rates / probabilities.sum())


def mva(users: int, think_s: float, service_s: float) -> tuple[float, float]:
    """(X, R) of M/M/1//N by exact mean value analysis (Reiser & Lavenberg 1980)."""
    queue, throughput, response_s = 0.0, 0.0, 0.0
    for present in range(1, users + 1):
        response_s = service_s * (1 + queue)
        throughput = present / (think_s + response_s)
        queue = throughput * response_s
    return throughput, response_s


def knee(think_s: float, count: int, service_s: float) -> float:
    """N* of M/M/c//N: the asymptote crossing, capacity over the rate of a user who is alone."""
    return count / service_s * (service_s + think_s)

"""Exact results for closed queues with exponential service, with which both the simulator and the detector are compared.

A closed queue whose users think for a mean time Z and are then served at a total rate mu(n) when n of them are present is a
birth-death chain, whose balance equations are solved exactly. The distribution of think times does not matter (product form,
Baskett, Chandy, Muntz & Palacios 1975).
"""

from __future__ import annotations

import math
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


def wait_s(load: float, count: int, service_s: float, cv2: float = 1.0) -> float:
    """Mean wait in an open queue of `count` servers at a share `load` of their capacity: Erlang C, times (1 + cv2) / 2 for the
    squared coefficient of variation of service times (exact for one server, Pollaczek & Khinchine; else Allen & Cunneen)."""
    offered = load * count
    term = offered**count / math.factorial(count) / (1 - load)
    waits = term / (sum(offered**n / math.factorial(n) for n in range(count)) + term)
    return waits * service_s / (count * (1 - load)) * (1 + cv2) / 2


def held_rps(slots: int, held_s: float, count: int, service_s: float, cv2: float) -> float:
    """Goodput of a saturated service whose requests hold one of `slots` while they run and for `held_s` after that."""
    low, high = 0.0, 0.999 * count / service_s
    for _ in range(60):
        rate = (low + high) / 2
        response_s = service_s + wait_s(rate * service_s / count, count, service_s, cv2)
        low, high = (rate, high) if rate * (held_s + response_s) < slots else (low, rate)
    return low


def limited_goodput(offered_per_s: float, rate: Rate, most: int) -> float:
    """Goodput of an open queue that refuses arrivals while `most` are present (M/M/c/K; without a queue: Erlang's loss)."""
    log_p = np.zeros(most + 1)
    for present in range(1, most + 1):
        log_p[present] = log_p[present - 1] + np.log(offered_per_s) - np.log(rate(present))
    probabilities = np.exp(log_p - log_p.max())
    return offered_per_s * float(1 - probabilities[-1] / probabilities.sum())


def closed_loss_rps(users: int, think_s: float, count: int, service_s: float) -> float:
    """Goodput of users who think, find one of `count` servers or are refused at once, and think again (Engset): only the means of
    service and think times matter, unless both are constant."""
    busy = np.arange(min(count, users) + 1)
    ways = [math.lgamma(users + 1) - math.lgamma(n + 1) - math.lgamma(users - n + 1) for n in busy]
    log_p = np.array(ways) + busy * math.log(service_s / think_s)
    probabilities = np.exp(log_p - log_p.max())
    return float(probabilities @ busy / probabilities.sum()) / service_s


def timely_goodput(count: int, service_s: float, timeout_s: float) -> float:
    """The greatest goodput of M/M/c over all offered rates, if only requests that end within `timeout_s` are successes."""
    per_s = np.linspace(0.02, 0.999, 200) * count / service_s
    return float(max(each * _timely(each, count, service_s, timeout_s) for each in per_s))


def _timely(offered_per_s: float, count: int, service_s: float, timeout_s: float) -> float:
    """P(wait + service <= timeout) of M/M/c."""
    load = offered_per_s * service_s
    waits = load**count / math.factorial(count) / (1 - load / count)
    waits /= sum(load**n / math.factorial(n) for n in range(count)) + waits
    mu, drain = 1 / service_s, count / service_s - offered_per_s
    late = math.exp(-mu * timeout_s)
    if abs(drain - mu) < 1e-6 * mu:
        return 1 - late * (1 + waits * mu * timeout_s)
    both = (drain * late - mu * math.exp(-drain * timeout_s)) / (drain - mu)
    return 1 - (1 - waits) * late - waits * both

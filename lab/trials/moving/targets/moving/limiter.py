"""Two rate limiters: one refuses requests (a token bucket), one delays them (a leaky bucket)."""

from __future__ import annotations

RATE_RPS = 50.0
BURST = 5


class Limiter:
    """50 requests a second; at most five at once."""

    def __init__(self) -> None:
        self._tokens, self._filled_s = float(BURST), 0.0
        self._free_s = 0.0

    def refuses(self, now_s: float) -> bool:
        """Whether a request that arrives now finds no token."""
        self._tokens = min(BURST, self._tokens + (now_s - self._filled_s) * RATE_RPS)
        self._filled_s = now_s
        if self._tokens < 1:
            return True
        self._tokens -= 1
        return False

    def delay_s(self, now_s: float) -> float:
        """Seconds for which a request that arrives now is delayed."""
        turn_s = max(now_s, self._free_s)
        self._free_s = turn_s + 1 / RATE_RPS
        return turn_s - now_s

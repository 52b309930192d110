"""Writes to the terminal's clipboard by the escape sequence OSC 52, which also works over SSH.

A terminal does not report whether it accepted the sequence. tmux accepts it with `set-clipboard on`, and passes it through in
its own envelope with `allow-passthrough on`; both are sent. GNU screen passes envelopes of 768 bytes through.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

_SCREEN_MOST = 700
"""Most characters in an envelope of GNU screen."""


def sequences(text: str, environment: Mapping[str, str]) -> str:
    """The text to write to the terminal, so that its clipboard has `text`."""
    plain = f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}\a"
    if in_tmux(environment):
        return f"{plain}\x1bPtmux;\x1b{plain}\x1b\\"
    if environment.get("STY"):
        parts = (plain[begin : begin + _SCREEN_MOST] for begin in range(0, len(plain), _SCREEN_MOST))
        return "".join(f"\x1bP{part}\x1b\\" for part in parts)
    return plain


def in_tmux(environment: Mapping[str, str]) -> bool:
    """Whether the terminal is tmux, on this machine or on the one that the SSH session came from."""
    return bool(environment.get("TMUX")) or environment.get("TERM", "").startswith("tmux")

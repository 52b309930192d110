"""Causes, watched as events come: failures and readings in, marks out. The same live and over a saved log; no clock, no I/O."""

from .watch import CauseWatch

__all__ = ["CauseWatch"]

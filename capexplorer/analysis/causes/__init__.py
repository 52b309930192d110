"""Causes of failures: how one failure is classified, how marks open and close (docs/causes.md)."""

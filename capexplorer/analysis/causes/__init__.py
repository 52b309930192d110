"""Causes of failures: the catalogue of causes, how one failure is classified, how marks open and close (docs/causes.md)."""

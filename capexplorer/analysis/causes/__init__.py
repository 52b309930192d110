"""Causes of failures: their catalogue, how one failure is classified, the watch that opens and closes marks (docs/causes.md)."""

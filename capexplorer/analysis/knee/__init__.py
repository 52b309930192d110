"""The knee of a capacity curve: whether there is one, where it lies, what limits it, with which confidence (docs/knee.md)."""

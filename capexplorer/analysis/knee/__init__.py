"""The knee of a capacity curve: whether there is one, where it lies, what limits it, how sure it is (docs/knee.md)."""

"""Reports of a session: `summary` is built once from the timeline; every format uses it."""

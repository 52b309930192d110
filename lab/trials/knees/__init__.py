"""A benchmark of knee finders."""

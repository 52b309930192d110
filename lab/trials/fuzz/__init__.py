"""Damaged and nonsensical input in large numbers."""

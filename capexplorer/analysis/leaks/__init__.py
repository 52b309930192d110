"""Leaks: memory or file descriptors that grow while the number of users stays the same."""

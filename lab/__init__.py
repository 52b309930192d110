"""Workbenches: what proves that a change makes nothing worse."""

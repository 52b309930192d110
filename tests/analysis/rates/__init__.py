"""Levels of offered rates in, verdicts out."""

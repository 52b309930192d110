"""Trials: what tests cannot prove, for minutes or hours."""

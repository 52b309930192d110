"""Damaged and nonsensical input in large numbers, by seed: `python -m lab.trials.fuzz logs --count 100000 --seed 1`."""

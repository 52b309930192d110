"""Live evidence for knees: real processes with a known capacity, explored in real time (`make experiments`).

pytest runs only a short one (`tests/lab/test_one_experiment.py`). The result of each run is recorded when it ends, misses
included.
"""
